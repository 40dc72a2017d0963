import ArgumentParser
import SkyrowActions
import SkyrowModel
import SkyrowProtocol
import SkyrowServer
import SkyrowStore
import SkyrowSystem

/// `skyrow user invite`
struct UserInviteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "invite",
        abstract: "Create an account for a mail address, whose user chooses the password.",
        discussion: """
            The running service mails a link, which is valid for seven days. If the user has not chosen a password yet, the \
            address gets another mail.
            """
    )

    @OptionGroup var options: DatabaseOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The mail address.")
    var address: String

    @Option(
        name: .customLong("role"),
        help: ArgumentHelp("A role to assign in addition to the default roles; may be repeated.", valueName: "name")
    )
    var roles: [String] = []

    @Option(help: ArgumentHelp("The language of the mail, such as de (default: English).", valueName: "tag"))
    var language: String?

    @Flag(
        help:
            "Invite even if the settings of this command do not send mail, since the running service has different ones."
    )
    var force = false

    func run() async throws {
        try await reportingErrors {
            try await withApplication(options, preparing: true) { application throws(ToolError) in
                guard force || application.settings.mail.isSent else {
                    throw .failure(
                        "Mail is not configured: set mail, mail-from and public-url for this command too, or add --force if the "
                            + "running service has them."
                    )
                }
                let existing = try await failingAsTool {
                    try await application.service.existing(roles.map { RoleName($0) })
                }
                let request = CodeRequest(email: address, language: language)
                let id = try await application.run(Actions.authInvite, request)
                if !existing.isEmpty {
                    try await application.run(Actions.roleAssign, RoleAssignment(roles: existing, users: [id]))
                }
                let made = try await failingAsTool { try await application.store.users.accounts(named: id.rawValue) }
                guard let account = made.first else { throw .failure("The account was deleted immediately.") }
                print(output.isJSON ? account.json() : account.text())
            }
        }
    }
}
