import ArgumentParser
import SkyrowActions
import SkyrowMaintenance
import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowSystem

/// `skyrow user create`
struct UserCreateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Create an account.",
        discussion: """
            A password is generated and printed once, unless --password-stdin reads it from standard input. It cannot be given \
            on the command line, which everybody on the machine can read.
            """
    )

    @OptionGroup var options: DatabaseOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The username, or another login key if accounts have no username.")
    var name: String

    @Option(help: ArgumentHelp("A mail address that is also a login key.", valueName: "address"))
    var email: String?

    @Option(
        name: .customLong("role"),
        help: ArgumentHelp("A role to assign in addition to the default roles; may be repeated.", valueName: "name")
    )
    var roles: [String] = []

    @Flag(name: .customLong("password-stdin"), help: "Read the password from the first line of standard input.")
    var readsPassword = false

    @Flag(help: "Allow the username or address of an account that was deleted within the last 30 days.")
    var force = false

    func run() async throws {
        try await reportingErrors {
            let given = readsPassword ? try PasswordInput.read() : nil
            try await withApplication(options, preparing: true, checksPasswords: true) {
                application throws(ToolError) in
                let service = application.service
                let store = application.store
                let password = given ?? PasswordInput.random(for: service.configuration.accounts.passwords)
                let authData = try UserCreateCommand.authData(name, email: email, keys: store.loginKeys.map(\.rawValue))
                if force {
                    let former = Dictionary(
                        authData.compactMap { key, value in (try? FieldName(key)).map { ($0, value) } },
                        uniquingKeysWith: { first, _ in first }
                    )
                    try await failingAsTool { try await store.deletions.forgetFormerLogins(former) }
                }
                let request = SignUpRequest(authData: authData, password: password)
                let id = try await make(request, roles.map { RoleName($0) }, service)
                let made = try await failingAsTool { try await store.users.accounts(named: id.rawValue) }
                guard let account = made.first else { throw .failure("The account \(id) was deleted immediately.") }
                let shown = given == nil ? password : nil
                print(output.isJSON ? account.json(password: shown) : account.text(password: shown))
                if shown != nil, !output.isJSON { print("\nThe password is shown only once.") }
            }
        }
    }

    /// Returns the account's login values by login key. Throws ``ToolError`` if mail addresses are not a login key.
    static func authData(_ name: String, email: String?, keys: [String]) throws(ToolError) -> [String: String] {
        var authData = [keys.contains("username") ? "username" : keys.first ?? "username": name]
        guard let email else { return authData }
        guard keys.contains("email") else {
            throw .usage("Accounts do not log in with a mail address here, but with: \(keys.joined(separator: ", ")).")
        }
        guard authData.updateValue(email, forKey: "email") == nil else {
            throw .usage(
                "Accounts log in with a mail address here: omit --email, and specify the address as the argument."
            )
        }
        return authData
    }

    private func make(_ request: SignUpRequest, _ roles: [RoleName], _ service: ActionService)
        async throws(ToolError) -> UserID
    {
        do throws(SkyrowError) {
            return try await service.createAccount(request, roles: roles)
        } catch {
            if error.code == .passwordPolicyViolated { throw .usage(error.message) }
            guard error.code == .duplicated, case .list(let keys) = error.info["arguments"],
                case .string(let key) = keys.first, let value = request.authData[key]
            else { throw ToolError(databaseFailure: error) }
            throw .failure("An account with the \(key) '\(value)' already exists; choose another one.")
        }
    }
}
