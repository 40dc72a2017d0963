/// The purpose of a one-time code.
package enum CodeKind: String, Hashable, Sendable, CaseIterable {
    /// It verifies that an address is the account's.
    case verify
    /// It sets a new password.
    case reset
    /// It sets the first password of an account that was created for its user.
    case invite
    /// It changes the address of the account to the one that it was sent to.
    case email
    /// It restores the previous address of an account.
    case undo
    /// It logs in.
    case link

    /// How long the digits are valid, in seconds; short, since they can be guessed.
    package static let digitsLifetime: Int64 = 900

    /// How long the link is valid, in seconds; for a mail without a link, how long the code is kept.
    package var linkLifetime: Int64 {
        switch self {
        case .verify: 86_400
        case .reset: 3600
        case .invite, .undo: 7 * 86_400
        case .email, .link: 900
        }
    }

    /// The kinds of codes whose links have the same effect: an invitation sets a password like a reset.
    var sameLinks: [String] {
        switch self {
        case .verify, .email, .undo, .link: [rawValue]
        case .reset, .invite: [CodeKind.reset.rawValue, CodeKind.invite.rawValue]
        }
    }
}

/// A code to store and to mail: the table stores the hashes, the mail has the texts.
package struct NewCode: Sendable {
    package var kind: CodeKind
    /// The address as it was sent, in any case and form.
    package var address: String
    package var id: [UInt8]
    package var linkHash: [UInt8]
    package var digitsHash: [UInt8]
    package var language: String
    /// The texts, for the mail.
    package var link: String
    package var digits: String
    /// The network of the client that requests the code; nil counts for no limit per network.
    package var client: [UInt8]?
    /// Whether the user of the address has recently logged in from this network.
    package var isOfKnownClient = false

    package init(
        kind: CodeKind,
        address: String,
        id: [UInt8],
        linkHash: [UInt8],
        digitsHash: [UInt8],
        language: String,
        link: String,
        digits: String,
        client: [UInt8]?
    ) {
        self.kind = kind
        self.address = address
        self.id = id
        self.linkHash = linkHash
        self.digitsHash = digitsHash
        self.language = language
        self.link = link
        self.digits = digits
        self.client = client
    }
}

/// Limits on the mails that may be requested.
package struct CodeMailLimits: Hashable, Sendable {
    /// To one address; a network from which its user has recently logged in is counted separately.
    package var aMinute = 1
    /// To one address, by one network of clients.
    package var anHour = 5
    /// To one address, by all networks from which its user has not recently logged in.
    package var anHourByStrangers = 20
    /// By one network of clients.
    package var anHourByClient = 20

    package init() {}
}

/// The proof of a code.
package enum CodeProof: Hashable, Sendable {
    case link(hash: [UInt8])
    /// The same, from the client that requested the code.
    case linkOfClient(id: [UInt8], hash: [UInt8])
    /// The digits of the code with this id. Their hash equals the stored one, in an attempt that was counted.
    case digits(id: [UInt8], hash: [UInt8])
}
