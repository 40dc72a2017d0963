import ArgumentParser
import SkyrowActions
import SkyrowJSON
import SkyrowModel
import SkyrowProtocol
import SkyrowServer
import SkyrowSystem

/// `skyrow key`
struct KeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key",
        abstract: "Create, show, rotate and revoke keys with scopes, and reseal secrets of users.",
        subcommands: [
            KeyCreateCommand.self, KeyListCommand.self, KeyRotateCommand.self, KeyRevokeCommand.self,
            KeyResealCommand.self,
        ]
    )
}

/// The kind of a key with scopes.
enum ScopedKeyKind: String, ExpressibleByArgument, CaseIterable {
    case client
    case server

    var stored: SkyrowModel.KeyKind {
        switch self {
        case .client: .client
        case .server: .server
        }
    }
}

/// `skyrow key create`
struct KeyCreateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Create a key, which is shown only once.",
        discussion: """
            Without a scope the key allows everything that its kind may do. A scope is read, read_private, write, signup, \
            type:<type>, type:<type>:read or action:<name of an action>. Every running service of the application accepts the \
            key within a second.
            """
    )

    @OptionGroup var options: DatabaseOptions
    @OptionGroup var output: OutputOptions

    @Option(help: "The purpose of the key.")
    var name: String

    @Option(help: "client admits clients, server bypasses access rules within its scopes.")
    var kind = ScopedKeyKind.client

    @Option(name: .customLong("scope"), help: ArgumentHelp("A scope of the key; may be repeated.", valueName: "scope"))
    var scopes: [String] = []

    @Option(
        name: .customLong("network"),
        help: ArgumentHelp(
            "A network from which the key is accepted, such as 10.0.0.0/8; may be repeated.",
            valueName: "range"
        )
    )
    var networks: [String] = []

    @Option(
        help: ArgumentHelp(
            "The lifetime of the key, such as 90d; without it the key never expires.",
            valueName: "duration"
        )
    )
    var expiresIn: String?

    func creation() throws(ToolError) -> KeyCreation {
        var expiry: Timestamp?
        if let expiresIn {
            guard let duration = DurationText.duration(expiresIn), duration > .zero else {
                throw ToolError.usage("--expires-in must be a duration such as 90d.")
            }
            expiry = ServiceClock.system.now().adding(duration)
        }
        let ranges = try networks.map { text throws(ToolError) in
            guard let range = AddressRange(text) else {
                throw .usage("--network must be an address or a range such as 10.0.0.0/8, not '\(text)'.")
            }
            return range
        }
        do throws(SkyrowError) {
            let scopes = try scopes.map { text throws(SkyrowError) in try KeyScope(text) }
            return try Actions.keyCreate.parameters.checked(
                KeyCreation(name: name, kind: kind.stored, scopes: scopes, networks: ranges, expiresAt: expiry)
            )
        } catch {
            throw ToolError.usage(error.message)
        }
    }

    func run() async throws {
        try await reportingErrors {
            let creation = try creation()
            try await withApplication(options) { application throws(ToolError) in
                let issued = try await application.run(Actions.keyCreate, creation)
                print(output.isJSON ? json(Actions.keyCreate, issued) : issued.text)
            }
        }
    }
}

/// `skyrow key list`
struct KeyListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Show the keys, without their secrets."
    )

    @OptionGroup var options: DatabaseOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await reportingErrors {
            try await withApplication(options, readsOnly: true) { application throws(ToolError) in
                let keys = try await application.run(Actions.keyList, ())
                if output.isJSON { return print(json(Actions.keyList, keys)) }
                let now = ServiceClock.system.now()
                let rows = keys.map { key in
                    [
                        key.id, key.name, key.kind.rawValue,
                        key.scopes.isEmpty ? "all" : key.scopes.joined(separator: " "), key.state(at: now),
                        key.lastUsedAt?.rfc3339 ?? "never",
                    ]
                }
                print(textTable([["ID", "NAME", "KIND", "SCOPES", "STATE", "LAST USED"]] + rows))
            }
        }
    }
}

/// `skyrow key rotate`
struct KeyRotateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate",
        abstract: "Give a key a new secret, which is shown only once.",
        discussion: "The current secret is still accepted for a while, the previous one is not."
    )

    @OptionGroup var options: DatabaseOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The id of the key.")
    var id: String

    @Option(
        help: ArgumentHelp("How long the current secret is still accepted, from 0s to 365d.", valueName: "duration")
    )
    var overlap = "7d"

    func run() async throws {
        try await reportingErrors {
            let overlap = try keyOverlap(overlap)
            let rotation = KeyRotation(id: try keyID(id), overlap: overlap)
            try await withApplication(options) { application throws(ToolError) in
                let issued = try await application.run(Actions.keyRotate, rotation)
                print(output.isJSON ? json(Actions.keyRotate, issued) : issued.text)
            }
        }
    }
}

/// `skyrow key revoke`
struct KeyRevokeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke",
        abstract: "Revoke a key.",
        discussion: "Every running service of the application refuses it within a second."
    )

    @OptionGroup var options: DatabaseOptions

    @Argument(help: "The id of the key.")
    var id: String

    func run() async throws {
        try await reportingErrors {
            let id = try keyID(id)
            try await withApplication(options) { application throws(ToolError) in
                try await application.run(Actions.keyRevoke, id)
            }
        }
    }
}

extension AccessKey {
    /// `holds`, or the reason why the key is invalid.
    fileprivate func state(at now: Timestamp) -> String {
        if let revokedAt { return "revoked \(revokedAt.rfc3339)" }
        guard let expiresAt else { return "holds" }
        return expiresAt <= now ? "expired \(expiresAt.rfc3339)" : "until \(expiresAt.rfc3339)"
    }
}

/// Parses the time for which a rotated key is still accepted.
func keyOverlap(_ text: String) throws(ToolError) -> Duration {
    guard let overlap = DurationText.duration(text), overlap <= .seconds(KeyRotation.maximumOverlap) else {
        throw .usage("--overlap must be a duration from 0s to 365d, such as 7d.")
    }
    return overlap
}

private func keyID(_ text: String) throws(ToolError) -> KeyID {
    guard let id = KeyID(text) else {
        throw ToolError.usage("'\(text)' is not the id of a key: 'skyrow key list' shows them.")
    }
    return id
}
