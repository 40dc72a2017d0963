package import SkyrowModel
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
        try Settings(SettingSources(flags: flags, environment: environment, file: try file()), groups: groups)
    }

    /// The settings that hold for an application: what it has of its own, and the service's for the rest.
    ///
    /// - Parameter stored: what its table in the database holds, by the settings' names.
    package func load(of application: ApplicationName, stored: [String: String]) throws(ToolError) -> Settings {
        // The default application is the service's own.
        guard application != .default else { return try load() }
        let sources = SettingSources(
            flags: flags,
            environment: environment,
            file: try file(),
            application: SettingSources.ApplicationSource(name: application, stored: stored)
        )
        return try Settings(sources, groups: groups)
    }

    private func file() throws(ToolError) -> SettingsFile? {
        // Where the file is cannot stand in the file.
        let outside = try Settings(
            SettingSources(flags: flags, environment: environment),
            groups: [GeneralSettings.self]
        )
        return try outside.general.config.map { path throws(ToolError) in try SettingsFile(reading: path) }
    }
}
