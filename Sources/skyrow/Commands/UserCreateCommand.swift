import ArgumentParser
import SkyrowActions
import SkyrowMaintenance
import SkyrowModel
import SkyrowServer
import SkyrowStore
import SkyrowSystem

/// `skyrow user create`
struct UserCreateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Make an account.",
        discussion: """
            The password is made and printed once, unless --password-stdin says that it comes on standard input. A command \
            line is no place for one, since everybody on the machine can read it.
            """
    )

    @OptionGroup var options: DatabaseOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The username, or where accounts have none, what they log in with.")
    var name: String

    @Option(help: ArgumentHelp("A mail address, to log in with as well.", valueName: "address"))
    var email: String?

    @Option(
        name: .customLong("role"),
        help: ArgumentHelp("A role to give besides those that every account gets; may be repeated.", valueName: "name")
    )
    var roles: [String] = []

    @Flag(name: .customLong("password-stdin"), help: "Read the password from the first line of standard input.")
    var readsPassword = false

    @Flag(help: "Make it also where an account that was deleted within 30 days had the name or the address.")
    var force = false

    func run() async throws {
        try await reportingErrors {
            let force = force
            let given = readsPassword ? try PasswordInput.read() : nil
            let (name, email, roles) = (name, email, roles.map { RoleName($0) })
            try await withAccountSettings(options, preparing: true) { store, settings throws(ToolError) in
                let policy = AccountPolicy(settings)
                let password = given ?? PasswordInput.random(for: policy.passwords)
                let desk = AccountDesk(
                    store: store,
                    passwords: PasswordConfiguration(breached: try settings.accounts.breachedPasswords()),
                    policy: policy
                )
                let authData = try UserCreateCommand.authData(name, email: email, keys: store.loginKeys.map(\.rawValue))
                if force {
                    let former = Dictionary(
                        authData.compactMap { key, value in (try? FieldName(key)).map { ($0, value) } },
                        uniquingKeysWith: { first, _ in first }
                    )
                    try await failingAsTool { () async throws(SkyrowError) in
                        try await store.deletions.forgetFormerLogins(former)
                    }
                }
                let id = try await make(SignUpRequest(authData: authData, password: password), roles, at: desk)
                let made = try await failingAsTool { () async throws(SkyrowError) in
                    try await store.users.accounts(named: id.rawValue)
                }
                guard let account = made.first else { throw .failure("The account \(id) was deleted at once.") }
                let shown = given == nil ? password : nil
                print(output.isJSON ? account.json(password: shown) : account.text(password: shown))
                if shown != nil, !output.isJSON { print("\nThis is the only time that the password is shown.") }
            }
        }
    }

    /// Returns the account's login values by login key. Throws ``ToolError`` if mail addresses are not a login key.
    static func authData(_ name: String, email: String?, keys: [String]) throws(ToolError) -> [String: String] {
        var authData = [keys.contains("username") ? "username" : keys.first ?? "username": name]
        guard let email else { return authData }
        guard keys.contains("email") else {
            throw .usage("Accounts do not log in with a mail address here, but with \(keys.joined(separator: ", ")).")
        }
        guard authData.updateValue(email, forKey: "email") == nil else {
            throw .usage("Accounts log in with a mail address here, so the one that is given first is enough.")
        }
        return authData
    }

    private func make(_ request: SignUpRequest, _ roles: [RoleName], at desk: AccountDesk)
        async throws(ToolError) -> UserID
    {
        do throws(SkyrowError) {
            return try await desk.create(request, roles: roles)
        } catch {
            if error.code == .passwordPolicyViolated { throw .usage(error.message) }
            guard error.code == .duplicated, case .list(let keys) = error.info["arguments"],
                case .string(let key) = keys.first, let value = request.authData[key]
            else { throw ToolError(databaseFailure: error) }
            throw .failure("An account with the \(key) '\(value)' is there already; choose another one.")
        }
    }
}
