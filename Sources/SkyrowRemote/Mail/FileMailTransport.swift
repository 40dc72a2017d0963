import SkyrowSystem

/// Writes each mail into a file of its own, for development and tests.
package struct FileMailTransport: MailTransport {
    private let directory: String

    /// - Parameter directory: made if need be, for its owner alone: the mails have codes.
    ///
    /// Throws ``MailFailure`` when it cannot be made.
    package init(directory: String) throws(MailFailure) {
        self.directory = directory
        do {
            try makeDirectory(directory)
        } catch {
            throw MailFailure(.permanent, "\(error)")
        }
    }

    package func send(_ message: MailMessage) async throws(MailFailure) {
        do throws(ToolError) {
            // A reader finds whole mails only.
            let file = try OutputFile(path: "\(directory)/\(message.id).eml", replacing: true)
            try file.write(message.bytes)
            try file.finish()
        } catch {
            throw MailFailure(.transient, "\(error)")
        }
    }
}
