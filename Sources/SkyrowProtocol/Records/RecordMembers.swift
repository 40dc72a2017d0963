import SkyrowJSON
import SkyrowModel

// The parameters that several actions of records have.

extension MemberDescription {
    static let database = MemberDescription(
        "database_id",
        "The database: `_public`, which is the default, `_private`, a user id, or `_union`.",
        .nullable(.string(maximum: 255))
    )
    static let recordType = MemberDescription("record_type", "The record type.", .string(maximum: 63), isRequired: true)
    static let recordCondition = MemberDescription(
        "predicate",
        "The condition on each record by itself; without it, all records match.",
        .nullable(.named(.predicate))
    )
    static let desiredKeys = MemberDescription(
        "desired_keys",
        "The fields to send; by default all.",
        .nullable(.array(of: .string()))
    )
    static let atomic = MemberDescription(
        "atomic",
        "Whether one failure undoes the whole request.",
        .nullable(.boolean)
    )
    static let idempotencyKey = MemberDescription(
        "idempotency_key",
        "A text of the client's choice; for 24 hours, a retry with it gets the first result.",
        .nullable(Codec<String>.idempotencyKey.shape)
    )
    static let hooks = MemberDescription(
        "hooks",
        "Whether hooks run, which is the default; false is only for the master key.",
        .nullable(.boolean)
    )
    static let explanation = MemberDescription(
        "explain",
        "Returns how PostgreSQL would execute the query; `analyze` executes it too. Only for the master key.",
        .nullable(.either([.boolean, .oneOfStrings([ExplainMode.analyze.rawValue])]))
    )
    static let timeLimit = MemberDescription(
        "timeout_ms",
        "The number of milliseconds after which the statement is cancelled; the service's own limit applies as well.",
        .nullable(.integer(minimum: 1, maximum: WireLimits.timeoutMilliseconds))
    )
}

extension Codec<String> {
    /// The key by which the service recognises the retry of a write.
    static let idempotencyKey = text(.string(maximum: WireLimits.idempotencyKeyBytes)) { _ in
        "An idempotency key must be 1 to \(WireLimits.idempotencyKeyBytes) bytes without NUL."
    } isFit: {
        (1...WireLimits.idempotencyKeyBytes).contains($0.utf8.count) && !$0.hasNUL
    }
}

extension Parameters {
    func idempotencyKey() throws(SkyrowError) -> String? {
        guard let json = self["idempotency_key"] else { return nil }
        return try Codec<String>.idempotencyKey.read(json, "idempotency_key")
    }
}

extension DatabaseName {
    /// The text of `database_id`.
    var text: String {
        switch self {
        case .everyone: "_public"
        case .own: "_private"
        case .user(let id): id.rawValue
        case .union: "_union"
        }
    }
}

extension JSONWriter {
    func databaseID(_ database: DatabaseName) {
        member("database_id", database.text)
    }

    func recordType(_ type: RecordTypeName, matching predicate: RecordPredicate?) {
        member("record_type", type.rawValue)
        if let predicate {
            key("predicate")
            self.predicate(predicate)
        }
    }

    func desiredKeys(_ fields: [String]?) {
        guard let fields else { return }
        member("desired_keys", fields)
    }

    func writeOptions(isAtomic: Bool, idempotencyKey: String?, runsHooks: Bool = true) {
        if isAtomic { member("atomic", true) }
        if !runsHooks { member("hooks", false) }
        if let idempotencyKey { member("idempotency_key", idempotencyKey) }
    }
}
