import ArgumentParser
import SkyrowProtocol
import SkyrowStore
import SkyrowSystem

/// `skyrow user factor`
struct UserFactorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "factor",
        abstract: "Remove the second factor of an account.",
        subcommands: [UserFactorRemoveCommand.self]
    )
}

/// `skyrow user factor remove`
struct UserFactorRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove the second factor of a user who has lost it, and allow logins without it.",
        discussion: """
            After that the user logs in with only the password, and the audit log has an event factor.remove. Verify the \
            identity of the user first. Sessions stay valid.
            """
    )

    @OptionGroup var account: NamedAccount

    func run() async throws {
        try await reportingErrors {
            try await account.printing { application, account throws(ToolError) in
                try await application.run(Actions.authTOTPRemove, (), for: account.id)
                return account
            }
        }
    }
}
