/// The names of the settings that a reload changed.
struct SettingsChange: Hashable, Sendable {
    /// Settings that were applied.
    var applied: [String] = []
    /// Settings that take effect at the next start.
    var waiting: [String] = []

    init(from old: Settings, to new: Settings) {
        for setting in SettingsTable.groups.flatMap({ $0.settings }) {
            let row = setting.row
            guard old.given(row)?.text ?? row.defaultValue != new.given(row)?.text ?? row.defaultValue else { continue }
            if row.reloads { applied.append(row.name) } else { waiting.append(row.name) }
        }
    }
}
