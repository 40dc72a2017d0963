/// What a one-time code is good for.
package enum CodeKind: String, Hashable, Sendable, CaseIterable {
    /// It proves that an address is the account's.
    case verify
    /// It sets a new password.
    case reset
    /// It sets the first password of an account that was made for its user.
    case invite
    /// It makes the address that it was sent to that of the account.
    case email
    /// It gives an account the address back that it had.
    case undo
    /// It logs in.
    case link

    /// How long the link counts, in seconds; where a mail has none, how long the code is kept.
    package var linkLifetime: Int64 {
        switch self {
        case .verify: 86_400
        case .reset: 3600
        case .invite, .undo: 7 * 86_400
        case .email, .link: 900
        }
    }

    /// The kinds of codes whose links do the same: an invitation sets a password as any other such code.
    var sameLinks: [String] {
        switch self {
        case .verify, .email, .undo, .link: [rawValue]
        case .reset, .invite: [CodeKind.reset.rawValue, CodeKind.invite.rawValue]
        }
    }
}

/// A code that is to be stored and mailed; the table gets hashes, the mail the texts.
package struct NewCode: Sendable {
    package var kind: CodeKind
    /// As it was sent, in any case and form.
    package var address: String
    package var id: [UInt8]
    package var linkHash: [UInt8]
    package var digitsHash: [UInt8]
    /// How long the link counts, in seconds.
    package var linkLifetime: Int64
    package var digitsLifetime: Int64
    package var language: String
    /// The texts, for the mail.
    package var link: String
    package var digits: String
    /// The network of the client that asks; nil counts for no limit of networks.
    package var client: [UInt8]?
    /// Whether the user of the address has lately logged in from there.
    package var isOfKnownClient = false

    package init(
        kind: CodeKind,
        address: String,
        id: [UInt8],
        linkHash: [UInt8],
        digitsHash: [UInt8],
        linkLifetime: Int64,
        digitsLifetime: Int64,
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
        self.linkLifetime = linkLifetime
        self.digitsLifetime = digitsLifetime
        self.language = language
        self.link = link
        self.digits = digits
        self.client = client
    }
}

/// How many mails may be asked for.
package struct CodeMailLimits: Hashable, Sendable {
    /// To one address; a network from which its user has lately logged in has its own count.
    package var aMinute = 1
    /// To one address, by one network of clients.
    package var anHour = 5
    /// To one address, by all networks from which its user has not logged in lately.
    package var anHourByStrangers = 20
    /// By one network of clients.
    package var anHourByClient = 20

    package init() {}
}

/// What was shown to be known of a code.
package enum CodeProof: Hashable, Sendable {
    /// By its hash, the code of a link.
    case link(hash: [UInt8])
    /// The same, by the client that has asked for it.
    case linkOfClient(id: [UInt8], hash: [UInt8])
    /// The digits of the code with this id; their hash is the stored one, which an attempt was paid for.
    case digits(id: [UInt8], hash: [UInt8])
}
