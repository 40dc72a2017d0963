package import SkyrowSystem

/// A group of settings: a section of the manual and of `--help`.
///
/// The properties of type ``Setting`` are its rows, in order.
package protocol SettingGroup: AnyObject, Sendable {
    init()
    static var title: String { get }
    /// Throws ``ToolError`` if the values of several settings conflict.
    static func check(_ settings: SettingValues<Self>) throws(ToolError)
}

extension SettingGroup {
    package static func check(_ settings: SettingValues<Self>) throws(ToolError) {}

    /// The settings of the group.
    package static var settings: [any AnySetting] {
        Mirror(reflecting: Self()).children.compactMap { $0.value as? any AnySetting }
    }
}

extension SettingsTable {
    /// Every group, in the order of the manual.
    package static let groups: [any SettingGroup.Type] = Mirror(reflecting: SettingsTable()).children.compactMap {
        child in
        (child.value as? any SettingGroup).map { type(of: $0) }
    }

    /// The groups of maintenance commands.
    package static let databaseGroups: [any SettingGroup.Type] = [
        GeneralSettings.self, DatabaseSettings.self, ApplicationSettings.self,
    ]

    /// The groups of the service, which serves all applications.
    package static let serviceGroups = groups.filter { $0 != ApplicationSettings.self }

    /// Every row, including those that name files of secrets.
    package static let rows: [SettingRow] = groups.flatMap { $0.settings }.flatMap { setting in
        [setting.row] + [setting.row.fileRow].compactMap(\.self)
    }
}
