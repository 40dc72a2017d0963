import ArgumentParser
import SkyrowModel
import SkyrowServer
import SkyrowStore
import SkyrowSystem

/// `skyrow app set`
struct AppSetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Set a setting for one application.",
        discussion: """
            It overrides the service's value, and the application's section of the settings file overrides it; \
            skyrow config --application shows the effective value.
            """
    )

    @OptionGroup var application: ChangedApplication

    @Argument(help: "The name of the setting, such as login-keys.")
    var setting: String

    @Argument(help: "The value, as on the command line of serve.")
    var value: String

    func run() async throws {
        try await reportingErrors {
            try application.requireOwnSettings()
            let setting = try ownSetting(setting)
            guard setting.read(value) != nil else {
                let given = setting.row.isSecret ? "" : "; it is '\(value)'"
                throw ToolError.usage("\(setting.row.name) must be \(setting.row.expectation)\(given).")
            }
            try await application.change { registry, name throws(SkyrowError) in
                try await registry.set(setting.row.name, to: value, of: name)
            }
        }
    }
}

/// `skyrow app unset`
struct AppUnsetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unset",
        abstract: "Reset a setting of an application to the service's value."
    )

    @OptionGroup var application: ChangedApplication

    @Argument(help: "The name of the setting.")
    var setting: String

    func run() async throws {
        try await reportingErrors {
            try application.requireOwnSettings()
            let setting = try ownSetting(setting).row.name
            try await application.change { registry, name throws(SkyrowError) in
                try await registry.set(setting, to: nil, of: name)
            }
        }
    }
}

extension ChangedApplication {
    /// Throws for the default application, whose settings are the service's.
    fileprivate func requireOwnSettings() throws(ToolError) {
        guard try applicationName(name) == .default else { return }
        throw .usage("The settings of the application app are the service's: flags, variables and the settings file.")
    }
}

/// Returns a setting that applications may override.
private func ownSetting(_ name: String) throws(ToolError) -> any AnySetting {
    let settings = SettingsTable.groups.flatMap { $0.settings }.filter(\.row.isOfApplications)
    guard let setting = settings.first(where: { $0.row.name == name }) else {
        let names = settings.map(\.row.name).joined(separator: ", ")
        throw .usage("'\(name)' is not a setting of an application; these are: \(names).")
    }
    return setting
}
