package import SkyrowSystem

/// The effective settings: each with its value and origin.
///
/// ```swift
/// let settings = try SettingsLoader(flags: flags, environment: processEnvironment()).load()
/// print(settings.listening.port)
/// ```
@dynamicMemberLookup
package struct Settings: Sendable {
    /// A setting with an explicit value.
    package struct Given: Sendable {
        package var text: String
        package var origin: SettingOrigin
        var value: any Sendable
    }

    private let given: [String: Given]
    private static let table = SettingsTable()

    /// Reads the groups' settings; those of other groups keep their defaults.
    ///
    /// Throws ``ToolError`` for the first invalid or unknown setting.
    package init(_ sources: SettingSources, groups: [any SettingGroup.Type] = SettingsTable.groups) throws(ToolError) {
        try sources.refuseUnknownNames(rows: SettingsTable.rows)
        var given: [String: Given] = [:]
        let preset = try Settings.preset(of: sources)
        for setting in groups.flatMap({ $0.settings }) {
            guard let found = try sources.find(setting.row) ?? preset[setting.row.name] else { continue }
            guard let value = setting.read(found.text) else {
                throw found.origin.refusal(of: found.text, setting.row)
            }
            given[setting.row.name] = Given(text: found.text, origin: found.origin, value: value)
        }
        self.given = given
        for group in groups { try check(group) }
    }

    /// Returns the defaults of the compatibility setting, by setting name.
    private static func preset(of sources: SettingSources) throws(ToolError) -> [String: SettingSources.Found] {
        let setting = table.accounts.compatibility
        guard let found = try sources.find(setting.row) else { return [:] }
        guard let compatibility = setting.parse(found.text) else {
            throw found.origin.refusal(of: found.text, setting.row)
        }
        return compatibility.defaults.mapValues { SettingSources.Found(text: $0, origin: .preset(compatibility)) }
    }

    private func check<Group: SettingGroup>(_ group: Group.Type) throws(ToolError) {
        try group.check(SettingValues(settings: self, group: Group()))
    }

    /// Returns the explicit value of a setting; nil if its default applies.
    package func given(_ row: SettingRow) -> Given? {
        given[row.name]
    }

    /// The values of a group: `settings.listening`.
    package subscript<Group: SettingGroup>(dynamicMember path: KeyPath<SettingsTable, Group>) -> SettingValues<Group> {
        SettingValues(settings: self, group: Settings.table[keyPath: path])
    }

    fileprivate func value<Value>(_ setting: Setting<Value>) -> Value {
        given[setting.row.name].flatMap { $0.value as? Value } ?? setting.defaultValue
    }
}

/// The values of one group: `settings.listening.port` is an `Int`.
@dynamicMemberLookup
package struct SettingValues<Group: SettingGroup>: Sendable {
    fileprivate let settings: Settings
    fileprivate let group: Group

    package subscript<Value>(dynamicMember path: KeyPath<Group, Setting<Value>>) -> Value {
        settings.value(group[keyPath: path])
    }

    /// Returns the origin of a value; nil for the default.
    package func origin<Value>(of path: KeyPath<Group, Setting<Value>>) -> SettingOrigin? {
        settings.given(group[keyPath: path].row)?.origin
    }
}
