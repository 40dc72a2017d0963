import ArgumentParser
import SkyrowActions
import SkyrowJSON
import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowSystem

/// `skyrow user disable`
struct UserDisableCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "disable",
        abstract: "Disable logins to an account, and end its sessions.",
        discussion: """
            Every running service of the application refuses the account within a second. An account without a password keeps \
            its sessions for when it is enabled again, since its user could not log in otherwise.
            """
    )

    @OptionGroup var account: NamedAccount

    @Option(help: ArgumentHelp("The message for the user.", valueName: "text"))
    var message: String?

    @Option(
        help: ArgumentHelp(
            "The time when the account is enabled again, such as 2030-01-31T12:00:00Z; without it, never.",
            valueName: "instant"
        )
    )
    var until: String?

    func run() async throws {
        try await reportingErrors {
            let expiry = try until.map { text throws(ToolError) in try instant(text) }
            if let expiry, expiry <= ServiceClock.system.now() { throw ToolError.usage("--until is in the past.") }
            if let message, message.utf8.count > DisabledState.maximumMessageBytes {
                throw ToolError.usage("--message must have at most \(DisabledState.maximumMessageBytes) bytes.")
            }
            try await account.printing { application, account throws(ToolError) in
                try await application.setDisabled(true, account.id, message: message, until: expiry)
            }
        }
    }

    private func instant(_ text: String) throws(ToolError) -> Timestamp {
        do {
            return try Timestamp(rfc3339: text)
        } catch {
            throw .usage("--until: \(error.message)")
        }
    }
}

/// `skyrow user enable`
struct UserEnableCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "enable", abstract: "Enable a disabled account.")

    @OptionGroup var account: NamedAccount

    func run() async throws {
        try await reportingErrors {
            try await account.printing { application, account throws(ToolError) in
                try await application.setDisabled(false, account.id)
            }
        }
    }
}

extension OperatedApplication {
    /// Disables or enables an account, and returns its new state.
    fileprivate func setDisabled(
        _ isDisabled: Bool,
        _ id: UserID,
        message: String? = nil,
        until expiry: Timestamp? = nil
    ) async throws(ToolError) -> AccountSummary {
        let state = DisabledState(userID: id, isDisabled: isDisabled, message: message, expiry: expiry)
        try await run(Actions.authDisableSet, state)
        return try await store.account(named: id.rawValue)
    }
}
