/// What another reading of the settings brought, by their names.
struct SettingsChange: Hashable, Sendable {
    /// Taken at once.
    var applied: [String] = []
    /// Waiting for the next start.
    var waiting: [String] = []

    init(from old: Settings, to new: Settings) {
        for setting in SettingsTable.groups.flatMap({ $0.settings }) {
            let row = setting.row
            guard old.given(row)?.text ?? row.defaultValue != new.given(row)?.text ?? row.defaultValue else { continue }
            if row.reloads { applied.append(row.name) } else { waiting.append(row.name) }
        }
    }
}
