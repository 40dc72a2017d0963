/// The sources of a command's settings, kept to read the file again later.
struct SettingsLoader: Sendable {
    /// By the settings' names.
    var flags: [String: String]
    var environment: [String: String]
    var groups = SettingsTable.groups

    /// Reads the settings file, if one is named, and all settings.
    ///
    /// Throws ``ToolError`` about the first thing that is wrong.
    func load() throws(ToolError) -> Settings {
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
