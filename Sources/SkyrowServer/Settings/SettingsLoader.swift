package import SkyrowSystem

/// The sources of a command's settings, kept to read the file again later.
package struct SettingsLoader: Sendable {
    /// By the settings' names.
    package var flags: [String: String]
    package var environment: [String: String]
    package var groups = SettingsTable.groups

    package init(
        flags: [String: String],
        environment: [String: String],
        groups: [any SettingGroup.Type] = SettingsTable.groups
    ) {
        self.flags = flags
        self.environment = environment
        self.groups = groups
    }

    /// Reads the settings file, if one is named, and all settings.
    ///
    /// Throws ``ToolError`` about the first thing that is wrong.
    package func load() throws(ToolError) -> Settings {
        // Where the file is cannot stand in the file.
        let outside = try Settings(
            SettingSources(flags: flags, environment: environment),
            groups: [GeneralSettings.self]
        )
        var file: SettingsFile?
        if let path = outside.general.config { file = try SettingsFile(reading: path) }
        return try Settings(SettingSources(flags: flags, environment: environment, file: file), groups: groups)
    }
}
