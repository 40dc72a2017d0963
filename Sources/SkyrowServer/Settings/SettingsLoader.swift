package import SkyrowModel
package import SkyrowSystem

/// The sources of a command's settings, kept for reloading.
package struct SettingsLoader: Sendable {
    /// The flags by setting name.
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

    /// Reads the settings file, if there is one, and all settings.
    ///
    /// Throws ``ToolError`` for the first error.
    package func load() throws(ToolError) -> Settings {
        try Settings(SettingSources(flags: flags, environment: environment, file: try file()), groups: groups)
    }

    /// Returns the settings of an application: its own, and the service's for the rest.
    ///
    /// - Parameter stored: The settings in its database table, by name.
    package func load(of application: ApplicationName, stored: [String: String]) throws(ToolError) -> Settings {
        // The default application uses the service's settings.
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
        // The file cannot name itself.
        let outside = try Settings(
            SettingSources(flags: flags, environment: environment),
            groups: [GeneralSettings.self]
        )
        return try outside.general.config.map { path throws(ToolError) in try SettingsFile(reading: path) }
    }
}
