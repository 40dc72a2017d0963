import ArgumentParser
import SkyrowJSON
import SkyrowMaintenance
import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowSystem

/// `skyrow user delete`
struct UserDeleteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete an account and its records.",
        discussion: """
            The account is disabled first. Then its private records are deleted, and its public ones are handled according to \
            the setting user-deletion. The running service completes an interrupted command. No other account can get its login \
            keys for 30 days.
            """
    )

    @OptionGroup var account: NamedAccount

    @Flag(help: "Set references of other records to the user to null if they prevent the deletion.")
    var release = false

    @Flag(help: "Do not ask for confirmation.")
    var yes = false

    func run() async throws {
        try await reportingErrors {
            try await withApplication(account.options) { application throws(ToolError) in
                let account = try await application.store.account(named: account.name)
                let id = account.id
                if !yes {
                    let keys = account.loginKeys.sorted { $0.key < $1.key }.map(\.value).joined(separator: ", ")
                    let whom = keys.isEmpty ? id.rawValue : "\(id) (\(keys))"
                    try Confirmation.require("Delete the account \(whom) and its private records?")
                }
                // The deletion needs the record types and the delete rules of their references.
                try await failingAsTool { try await application.store.cache.reload() }
                let report = try await application.run(Actions.userDelete, UserDeletion(userID: id, releases: release))
                print(self.account.output.isJSON ? report.json(of: id) : report.text(of: id))
            }
        }
    }
}

extension DeletionReport {
    fileprivate func json(of id: UserID) -> String {
        jsonObject { writer in
            writer.member("id", id.rawValue)
            writer.key("deletion")
            Codec.deletionReport.write(self, writer)
        }
    }

    fileprivate func text(of id: UserID) -> String {
        var lines = ["The account \(id) is deleted.", "Records deleted: \(deleted)"]
        if anonymised > 0 { lines.append("Records anonymised: \(anonymised)") }
        if transferred > 0 { lines.append("Records transferred: \(transferred)") }
        if kept > 0 { lines.append("Records anonymised because others refer to them: \(kept)") }
        return lines.joined(separator: "\n")
    }
}
