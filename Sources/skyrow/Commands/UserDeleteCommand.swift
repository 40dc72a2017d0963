import ArgumentParser
import SkyrowActions
import SkyrowJSON
import SkyrowMaintenance
import SkyrowModel
import SkyrowServer
import SkyrowStore
import SkyrowSystem
import SkyrowWire

/// `skyrow user delete`
struct UserDeleteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete an account with what belongs to it.",
        discussion: """
            The account is disabled first, then its private records are deleted, and of its public ones what the setting \
            user-deletion says. A command that is interrupted is finished by the running service. No other account gets its login keys for \
            30 days.
            """
    )

    @OptionGroup var options: DatabaseOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "Its id, username or mail address.")
    var name: String

    @Flag(help: "Set references of other records to the user to null that would keep the account from being deleted.")
    var release = false

    @Flag(help: "Do not ask.")
    var yes = false

    func run() async throws {
        try await reportingErrors {
            let (name, release, yes) = (name, release, yes)
            try await withAccountSettings(options) { store, settings throws(ToolError) in
                let account = try await store.account(named: name)
                let id = account.id
                if !yes {
                    let keys = account.loginKeys.sorted { $0.key < $1.key }.map(\.value).joined(separator: ", ")
                    let whom = keys.isEmpty ? id.rawValue : "\(id) (\(keys))"
                    try Confirmation.require("Delete the account \(whom) with its private records?")
                }
                // The deletion needs the record types and the delete rules of their references.
                do {
                    try await store.cache.reload()
                } catch {
                    throw ToolError(databaseFailure: error)
                }
                let rules = settings.accounts.userDeletion
                let report = try await failingAsTool { () async throws(SkyrowError) in
                    try await AccountDesk(store: store).delete(id, rules, releasing: release)
                }
                print(output.isJSON ? report.json(of: id) : report.text(of: id))
            }
        }
    }
}

extension DeletionReport {
    fileprivate func json(of id: UserID) -> String {
        let writer = JSONWriter()
        writer.beginObject()
        writer.key("id")
        writer.string(id.rawValue)
        writer.key("deletion")
        writer.deletion(self)
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    fileprivate func text(of id: UserID) -> String {
        var lines = ["The account \(id) is deleted.", "Records deleted: \(deleted)"]
        if anonymised > 0 { lines.append("Records without a name now: \(anonymised)") }
        if transferred > 0 { lines.append("Records of another user now: \(transferred)") }
        if kept > 0 { lines.append("Records without a name that others keep from being deleted: \(kept)") }
        return lines.joined(separator: "\n")
    }
}
