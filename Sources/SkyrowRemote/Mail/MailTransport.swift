/// Takes mail to where it is sent from.
package protocol MailTransport: Sendable {
    /// Hands a message over; returns when the other side has accepted it.
    ///
    /// Throws ``MailFailure``. A cancelled task stops soon; the message may have been accepted then.
    func send(_ message: MailMessage) async throws(MailFailure)
}

/// Why a mail was not accepted.
package struct MailFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Kind: Hashable, Sendable {
        /// Another attempt may succeed.
        case transient
        /// The server refuses this mail, or this address, for good.
        case permanent
    }

    package let kind: Kind
    /// For the operator; it has no text of the mail.
    package let description: String

    package init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }
}
