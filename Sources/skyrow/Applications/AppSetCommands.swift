import ArgumentParser
import SkyrowModel
import SkyrowServer
import SkyrowStore
import SkyrowSystem

/// `skyrow app set`
struct AppSetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Give an application a value of a setting that is its own.",
        discussion: """
            It wins over the value that the service has, and the application's section of the settings file wins over it; \
            skyrow config --application shows what holds.
            """
    )

    @OptionGroup var options: RegistryOptions

    @Argument(help: "The name of the application.")
    var name: String

    @Argument(help: "The name of the setting, such as login-keys.")
    var setting: String

    @Argument(help: "Its value, as on the command line of serve.")
    var value: String

    func run() async throws {
        try await reportingErrors {
            let name = try ownName(name)
            let setting = try ownSetting(setting)
            guard setting.read(value) != nil else {
                throw ToolError.usage("\(setting.row.name) must be \(setting.row.expectation); it is '\(value)'.")
            }
            try await changingApplications(options) { registry throws(SkyrowError) in
                try await registry.set(setting.row.name, to: value, of: name)
            }
        }
    }
}

/// `skyrow app unset`
struct AppUnsetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unset",
        abstract: "Let an application have the service's value of a setting again."
    )

    @OptionGroup var options: RegistryOptions

    @Argument(help: "The name of the application.")
    var name: String

    @Argument(help: "The name of the setting.")
    var setting: String

    func run() async throws {
        try await reportingErrors {
            let name = try ownName(name)
            let setting = try ownSetting(setting).row.name
            try await changingApplications(options) { registry throws(SkyrowError) in
                try await registry.set(setting, to: nil, of: name)
            }
        }
    }
}

/// An application that has settings of its own.
private func ownName(_ text: String) throws(ToolError) -> ApplicationName {
    let name = try applicationName(text)
    guard name != .default else {
        throw .usage("The settings of the application app are the service's: flags, variables and the settings file.")
    }
    return name
}

/// A setting that an application can have of its own.
private func ownSetting(_ name: String) throws(ToolError) -> any AnySetting {
    let settings = SettingsTable.groups.flatMap { $0.settings }.filter(\.row.isOfApplications)
    guard let setting = settings.first(where: { $0.row.name == name }) else {
        let names = settings.map(\.row.name).joined(separator: ", ")
        throw .usage("'\(name)' is no setting of an application; these are: \(names).")
    }
    return setting
}
