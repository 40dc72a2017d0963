import ArgumentParser
import SkyrowMaintenance
import SkyrowModel
import SkyrowPostgres
import SkyrowServer
import SkyrowStore
import SkyrowSystem

/// `skyrow user`
struct UserCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "user",
        abstract: "Create, show, invite, disable, enable and delete accounts, and remove second factors.",
        subcommands: [
            UserCreateCommand.self, UserInviteCommand.self, UserListCommand.self, UserShowCommand.self,
            UserDisableCommand.self,
            UserEnableCommand.self, UserFactorCommand.self, UserDeleteCommand.self,
        ]
    )
}

/// Calls `body` with the store of the settings' database with the service's login keys: those of the settings, or all keys in the
/// database.
///
/// - Parameter preparing: Whether the reserved tables are made and migrated; otherwise they must be up to date.
func withAccounts(
    _ options: DatabaseOptions,
    preparing: Bool = false,
    readsOnly: Bool = false,
    _ body: (RecordStore) async throws(ToolError) -> Void
) async throws(ToolError) {
    try await withAccountSettings(options, preparing: preparing, readsOnly: readsOnly) { store, _ throws(ToolError) in
        try await body(store)
    }
}

/// Calls `body` as ``withAccounts(_:preparing:readsOnly:_:)`` does, also with the application's settings.
func withAccountSettings(
    _ options: DatabaseOptions,
    preparing: Bool = false,
    readsOnly: Bool = false,
    _ body: (RecordStore, Settings) async throws(ToolError) -> Void
) async throws(ToolError) {
    var loader = options.loader
    loader.groups += [AccountSettings.self, MailSettings.self]
    let known = try await loader.loadForApplication()
    // The service's login keys apply to the default application only.
    let isDefault = known.application.name == .default
    let isGiven = isDefault && known.given(AccountSettings().loginKeys.row) != nil
    let given = isGiven ? known.accounts.loginKeys : nil
    let sources = loader
    try await withClient(known, readsOnly: readsOnly) { client, schema, logger throws(ToolError) in
        if !preparing { try await requireMigrated(client, schema, logger: logger) }
        let store: RecordStore
        do {
            let existing = try await LoginKeys.existing(in: schema, of: client)
            let keys = given ?? (existing.isEmpty ? LoginKeys.default : existing)
            store = RecordStore(client: client, schema: schema, mode: .production, loginKeys: keys, logger: logger)
            if preparing { try await store.prepare() }
        } catch {
            throw ToolError(databaseFailure: error)
        }
        var settings = known
        if !isDefault {
            let registry = ApplicationRegistry(client: client, defaultSchema: schema, logger: logger)
            let stored = try await failingAsTool { () async throws(SkyrowError) in
                try await registry.settings(of: schema)
            }
            settings = try sources.load(of: known.application.name, stored: stored)
        }
        try await body(store, settings)
    }
}

extension RecordStore {
    /// Returns the account with a name, which must be unambiguous.
    func account(named name: String) async throws(ToolError) -> AccountSummary {
        let found = try await failingAsTool { () async throws(SkyrowError) in try await users.accounts(named: name) }
        guard let account = found.first else { throw .failure("The account '\(name)' does not exist.") }
        guard found.count == 1 else {
            let ids = found.map(\.id.rawValue).joined(separator: ", ")
            throw .failure("'\(name)' matches several accounts: \(ids). Specify an id.")
        }
        return account
    }
}
