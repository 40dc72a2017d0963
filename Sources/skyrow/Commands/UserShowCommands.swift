import ArgumentParser
import SkyrowStore
import SkyrowSystem

/// `skyrow user list`
struct UserListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "Show the newest accounts.")

    @OptionGroup var options: DatabaseOptions
    @OptionGroup var output: OutputOptions

    @Option(help: ArgumentHelp("The maximum number of accounts (default: 100).", valueName: "count"))
    var limit = 100

    @Flag(help: "Only disabled accounts.")
    var disabled = false

    func validate() throws {
        guard (1...100_000).contains(limit) else { throw ValidationError("--limit must be a number from 1 to 100000.") }
    }

    func run() async throws {
        try await reportingErrors {
            try await withApplication(options, readsOnly: true) { application throws(ToolError) in
                let store = application.store
                let (accounts, count) = try await failingAsTool {
                    (
                        try await store.users.newest(limit, disabledOnly: disabled),
                        try await store.users.count(disabledOnly: disabled)
                    )
                }
                print(output.isJSON ? accountsJSON(accounts, of: count) : accountsText(accounts, of: count))
            }
        }
    }
}

/// `skyrow user show`
struct UserShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "show", abstract: "Show an account.")

    @OptionGroup var account: NamedAccount

    func run() async throws {
        try await reportingErrors {
            try await account.printing(readsOnly: true) { _, account in account }
        }
    }
}
