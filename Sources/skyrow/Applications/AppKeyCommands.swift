import ArgumentParser
import SkyrowActions
import SkyrowModel
import SkyrowServer
import SkyrowStore
import SkyrowSystem

/// `skyrow app key`
struct AppKeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key",
        abstract: "Add, rotate and remove keys of an application.",
        subcommands: [AppKeyAddCommand.self, AppKeyRotateCommand.self, AppKeyRemoveCommand.self]
    )
}

/// The kind of an application's key.
enum KeyKind: String, ExpressibleByArgument, CaseIterable {
    case api
    case master

    var stored: ApplicationKey.Kind {
        switch self {
        case .api: .api
        case .master: .master
        }
    }
}

/// `skyrow app key add`
struct AppKeyAddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Create an additional key, which is shown only once."
    )

    @OptionGroup var application: ChangedApplication
    @OptionGroup var output: OutputOptions

    @Option(help: "api admits clients, master bypasses every rule.")
    var kind = KeyKind.api

    func run() async throws {
        try await reportingErrors { try await addKey(to: application, kind.stored, output) }
    }
}

/// `skyrow app key rotate`
struct AppKeyRotateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate",
        abstract: "Create a new key, and expire the others of its kind after some time.",
        discussion: """
            A key from the settings of the service (such as --api-key-file) is not stored in the database: it is valid until \
            that setting is changed.
            """
    )

    @OptionGroup var application: ChangedApplication
    @OptionGroup var output: OutputOptions

    @Option(help: "api admits clients, master bypasses every rule.")
    var kind = KeyKind.api

    @Option(help: ArgumentHelp("How long the old keys are still accepted, from 0s to 365d.", valueName: "duration"))
    var overlap = "7d"

    func run() async throws {
        try await reportingErrors {
            try await addKey(to: application, kind.stored, endingOthersIn: try keyOverlap(overlap), output)
        }
    }
}

/// `skyrow app key remove`
struct AppKeyRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove a key, which is then refused."
    )

    @OptionGroup var application: ChangedApplication

    @Argument(help: "The first eight characters of the key, as app show prints them, or the whole key.")
    var key: String

    func run() async throws {
        try await reportingErrors {
            try await application.change { registry, name throws(SkyrowError) in
                try await registry.removeKey(beginning: key, of: name)
            }
        }
    }
}

/// Makes a key and shows it.
private func addKey(
    to application: ChangedApplication,
    _ kind: ApplicationKey.Kind,
    endingOthersIn overlap: Duration? = nil,
    _ output: OutputOptions
) async throws(ToolError) {
    let (text, key) = NewApplicationKey.random(kind)
    try await application.change { registry, name throws(SkyrowError) in
        try await registry.add(key, to: name, endingOthersIn: overlap?.components.seconds)
    }
    print(output.isJSON ? jsonObject { $0.member(named: "\(kind.rawValue)_key", text) } : text)
}

/// `skyrow app host`
struct AppHostCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "host",
        abstract: "Add and remove host names of an application.",
        discussion: "A request without a key goes to the application with the host name that it was sent to.",
        subcommands: [AppHostAddCommand.self, AppHostRemoveCommand.self]
    )
}

/// `skyrow app host add`
struct AppHostAddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "add", abstract: "Add a host name.")

    @OptionGroup var host: ChangedHost

    func run() async throws {
        try await reportingErrors { try await host.change(isAdded: true) }
    }
}

/// `skyrow app host remove`
struct AppHostRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "remove", abstract: "Remove a host name.")

    @OptionGroup var host: ChangedHost

    func run() async throws {
        try await reportingErrors { try await host.change(isAdded: false) }
    }
}

/// The host name of `app host add` and `app host remove`.
struct ChangedHost: ParsableArguments {
    @OptionGroup var application: ChangedApplication

    @Argument(help: "The host name, without a port.")
    var hostName: String

    fileprivate func change(isAdded: Bool) async throws(ToolError) {
        let host = try skyrow.hostName(hostName)
        try await application.change { registry, name throws(SkyrowError) in
            if isAdded { try await registry.add(host, to: name) } else { try await registry.remove(host, from: name) }
        }
    }
}
