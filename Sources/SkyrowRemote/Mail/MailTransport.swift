/// A way to send mail.
package protocol MailTransport: Sendable {
    /// Sends a message, and returns when the other side has accepted it.
    ///
    /// Throws ``MailFailure``. Cancelling the task stops it soon; the message may still have been accepted.
    func send(_ message: MailMessage) async throws(MailFailure)
}

/// Why a mail was not accepted.
package struct MailFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Kind: Hashable, Sendable {
        /// Another attempt may succeed.
        case transient
        /// The server permanently refuses this mail or address.
        case permanent
    }

    package let kind: Kind
    /// A description for the operator, without text of the mail.
    package let description: String

    package init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }
}
