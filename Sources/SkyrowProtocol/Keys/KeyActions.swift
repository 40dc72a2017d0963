package import SkyrowModel

/// The key that `key:create` makes.
package struct KeyCreation: Hashable, Sendable {
    /// Upper bound on the keys of an application that are not revoked, since processes keep them all in memory.
    package static let maximumKeys = 1000
    package static let maximumNetworks = 100
    package static let nameSentence =
        "A key name must be 1 to 255 bytes in NFC, without control characters and without a space at either end."

    package var name: String
    package var kind: KeyKind
    /// Each scope once.
    package let scopes: [KeyScope]
    package var networks: [AddressRange]
    package var expiresAt: Timestamp?

    package init(
        name: String,
        kind: KeyKind = .client,
        scopes: [KeyScope] = [],
        networks: [AddressRange] = [],
        expiresAt: Timestamp? = nil
    ) {
        self.name = name
        self.kind = kind
        var seen: Set<KeyScope> = []
        self.scopes = scopes.filter { seen.insert($0).inserted }
        self.networks = networks
        self.expiresAt = expiresAt
    }

    fileprivate static let form = Form(
        KeyCreation.init(name:kind:scopes:networks:expiresAt:),
        Member(
            "name",
            \.name,
            .keyName,
            "The purpose of the key, and its name in access lists and rules; several keys may have the same name."
        ),
        Member(
            "kind",
            \.kind,
            .oneOf,
            "Whether it is an API key, or is exempt from the rules of records; `client` by default.",
            absent: .client
        ),
        Member(
            "scopes",
            \.scopes,
            .list(of: .keyScope, atMost: KeyScope.maximumCount),
            "What the key may do; by default everything that its kind may do.",
            absent: []
        ),
        Member(
            "networks",
            \.networks,
            .list(of: .addressRange, atMost: maximumNetworks),
            "The addresses and ranges, such as `10.0.0.0/8`, from which it is accepted; by default all.",
            absent: []
        ),
        Member(optional: "expires_at", \.expiresAt, .instant, "When the key expires; by default never.")
    )
}

/// The key whose text `key:rotate` replaces.
package struct KeyRotation: Hashable, Sendable {
    /// In seconds: a year.
    package static let maximumOverlap = 365 * 86_400
    package static let defaultOverlap = Duration.seconds(7 * 86_400)

    package var id: KeyID
    /// How long the former text remains accepted.
    package var overlap: Duration

    package init(id: KeyID, overlap: Duration = defaultOverlap) {
        self.id = id
        self.overlap = overlap
    }

    fileprivate static let form = Form(
        KeyRotation.init(id:overlap:),
        Member(\.id, members: idForm),
        Member(
            "overlap",
            \.overlap,
            Codec<Int>.integer(0...maximumOverlap).map {
                .seconds($0)
            } writing: {
                Int($0.components.seconds)
            },
            "The number of seconds for which the previous text is accepted; by default a week.",
            absent: defaultOverlap
        )
    )

    fileprivate static let idForm = Form("id", .keyID, "The id of the key.")
}

extension Actions {
    /// Makes a key, whose text only this result has.
    package static let keyCreate = Action<KeyCreation, IssuedAccessKey>(
        "key:create",
        "Creates a key; only this response contains its text.",
        requires: .master,
        cost: .write,
        errors: [.permissionDenied],
        KeyCreation.form,
        result: .issuedKey
    )

    /// The keys, those that were revoked within 90 days too, in the order of their creation.
    public static let keyList = Action<Void, [AccessKey]>(
        "key:list",
        "Returns the keys without their texts, including those that were revoked within the last 90 days.",
        requires: .master,
        cost: .read,
        errors: [.permissionDenied],
        .none,
        result: .object(Form("keys", .list(of: .accessKey)))
    )

    /// Gives a key another text, which only this result has.
    package static let keyRotate = Action<KeyRotation, IssuedAccessKey>(
        "key:rotate",
        "Replaces the text of a key; only this response contains the new text, and the previous one is accepted for a while.",
        requires: .master,
        cost: .write,
        errors: [.permissionDenied, .resourceNotFound],
        KeyRotation.form,
        result: .issuedKey
    )

    /// Ends a key.
    package static let keyRevoke = Action<KeyID, Void>(
        "key:revoke",
        "Revokes a key; within a second no process accepts it.",
        requires: .master,
        cost: .write,
        effect: .repeatable,
        errors: [.permissionDenied, .resourceNotFound],
        KeyRotation.idForm,
        result: .status
    )
}
