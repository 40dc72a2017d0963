import Foundation

/// Writes each mail into a file of its own, for development and tests.
package struct FileMailTransport: MailTransport {
    private let directory: String

    /// - Parameter directory: made if need be, for its owner alone: the mails have codes.
    ///
    /// Throws ``MailFailure`` when it cannot be made.
    package init(directory: String) throws(MailFailure) {
        self.directory = directory
        do {
            try FileManager.default.createDirectory(
                atPath: directory,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
        } catch {
            throw MailFailure(.permanent, "The directory \(directory) cannot be made.")
        }
    }

    package func send(_ message: MailMessage) async throws(MailFailure) {
        let path = "\(directory)/\(message.id).eml"
        let draft = "\(path).part"
        let manager = FileManager.default
        // A reader finds whole mails only.
        guard
            manager.createFile(
                atPath: draft,
                contents: Data(message.bytes),
                attributes: [.posixPermissions: 0o600]
            ), rename(draft, path) == 0
        else {
            try? manager.removeItem(atPath: draft)
            throw MailFailure(.transient, "The mail cannot be written into \(directory).")
        }
    }
}
