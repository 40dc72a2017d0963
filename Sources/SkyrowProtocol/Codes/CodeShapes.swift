public import SkyrowModel

/// The result of a request for a code, whether or not an account has the address.
public struct CodeTicket: Hashable, Sendable {
    /// The handle that is sent with the digits of the mail.
    public var handle: String
    /// When the digits expire.
    public var expiresAt: Timestamp

    public init(handle: String, expiresAt: Timestamp) {
        self.handle = handle
        self.expiresAt = expiresAt
    }
}

extension Codec<CodeTicket> {
    static let codeTicket = object(
        Form(
            CodeTicket.init(handle:expiresAt:),
            Member("handle", \.handle, .string, "The digits are accepted only with it."),
            Member("expires_at", \.expiresAt, .instant, "When the digits expire.")
        )
    )
}
