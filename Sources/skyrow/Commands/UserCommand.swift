import ArgumentParser
import SkyrowActions
import SkyrowMaintenance
import SkyrowModel
import SkyrowPostgres
import SkyrowProtocol
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

/// The actions of an application, which a command runs in the process as the operator.
struct OperatedApplication: Sendable {
    let service: ActionService
    let settings: Settings

    var store: RecordStore { service.store }

    /// Runs an action; throws ``ToolError`` for what it throws.
    ///
    /// - Parameter user: The user on whose behalf the operator acts.
    func run<Parameters, Result>(
        _ action: Action<Parameters, Result>,
        _ parameters: Parameters,
        for user: UserID? = nil
    ) async throws(ToolError) -> Result {
        try await failingAsTool { try await service.run(action, parameters, Call(byOperatorFor: user)) }
    }
}

/// The account that a command shows or changes.
struct NamedAccount: ParsableArguments {
    @OptionGroup var options: DatabaseOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The id, username or mail address of the account.")
    var name: String

    /// Calls `body` with the account, and prints the account that it returns.
    func printing(
        readsOnly: Bool = false,
        _ body: (OperatedApplication, AccountSummary) async throws(ToolError) -> AccountSummary
    ) async throws(ToolError) {
        try await withApplication(options, readsOnly: readsOnly) { application throws(ToolError) in
            let account = try await body(application, try await application.store.account(named: name))
            print(output.isJSON ? account.json() : account.text())
        }
    }
}

/// Calls `body` with the actions of the settings' application. Its login keys are those of the settings, or all keys in the
/// database.
///
/// - Parameters:
///   - preparing: Whether the reserved tables are made and migrated; otherwise they must be up to date.
///   - checksPasswords: Whether new passwords are looked up in the list of breached ones.
///   - usesFiles: Whether the actions use the files of the application.
func withApplication(
    _ options: DatabaseOptions,
    preparing: Bool = false,
    readsOnly: Bool = false,
    checksPasswords: Bool = false,
    usesFiles: Bool = false,
    _ body: (OperatedApplication) async throws(ToolError) -> Void
) async throws(ToolError) {
    var loader = options.loader
    loader.groups += [AccountSettings.self, MailSettings.self]
    if usesFiles { loader.groups.append(FileSettings.self) }
    let known = try await loader.loadForApplication()
    try await withClient(known, readsOnly: readsOnly) { client, schema, logger throws(ToolError) in
        if !preparing { try await requireMigrated(client, schema, logger: logger) }
        let keys = try await loginKeys(known, in: schema, of: client)
        let store = RecordStore(client: client, schema: schema, mode: .production, loginKeys: keys, logger: logger)
        if preparing { try await failingAsTool { try await store.prepare() } }
        var settings = known
        if known.application.name != .default {
            let registry = ApplicationRegistry(client: client, defaultSchema: schema, logger: logger)
            let stored = try await failingAsTool { try await registry.settings(of: schema) }
            settings = try loader.load(of: known.application.name, stored: stored)
        }
        var configuration = ServiceConfiguration(
            accounts: AccountPolicy(settings),
            accountLife: AccountLifePolicy(deletedUsers: settings.accounts.userDeletion)
        )
        if usesFiles {
            // Links to files are not made.
            configuration.files = try await settings.fileConfiguration(of: known.application.name, port: 0)
        }
        if checksPasswords { configuration.passwords.breached = try settings.accounts.breachedPasswords() }
        let service = ActionService(
            store: store,
            configuration: configuration,
            application: known.application.name,
            logger: logger
        )
        try await body(OperatedApplication(service: service, settings: settings))
    }
}

/// Returns the login keys of the settings, or all keys in the database.
func loginKeys(
    _ settings: Settings,
    in schema: SQLIdentifier,
    of client: PostgresClient
) async throws(ToolError) -> [FieldName] {
    // The service's login keys apply to the default application only.
    if settings.application.name == .default, settings.given(AccountSettings().loginKeys.row) != nil {
        return settings.accounts.loginKeys
    }
    let existing = try await failingAsTool { try await LoginKeys.existing(in: schema, of: client) }
    return existing.isEmpty ? LoginKeys.default : existing
}

extension RecordStore {
    /// Returns the account with a name, which must be unambiguous.
    func account(named name: String) async throws(ToolError) -> AccountSummary {
        let found = try await failingAsTool { try await users.accounts(named: name) }
        guard let account = found.first else { throw .failure("The account '\(name)' does not exist.") }
        guard found.count == 1 else {
            let ids = found.map(\.id.rawValue).joined(separator: ", ")
            throw .failure("'\(name)' matches several accounts: \(ids). Specify an id.")
        }
        return account
    }
}
