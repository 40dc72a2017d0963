import SkyrowSystem

/// Writes each mail to a separate file, for development and tests.
package struct FileMailTransport: MailTransport {
    private let directory: String

    /// - Parameter directory: The directory, created if missing and private to its owner, as mails contain codes.
    ///
    /// Throws ``MailFailure`` if it cannot be created.
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
            // Readers only see complete mails.
            let file = try OutputFile(path: "\(directory)/\(message.id).eml", replacing: true)
            try file.write(message.bytes)
            try file.finish()
        } catch {
            throw MailFailure(.transient, "\(error)")
        }
    }
}
