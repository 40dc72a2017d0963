internal import SkyrowCrypto
internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowQuery

/// The first bytes of the SHA-256 of a query's identity: application, database, type, predicate and sort.
///
/// The predicate and the sort are digested as the text and the values of the statement, so a different statement has a
/// different digest, also for future predicates. Limit, fields, inclusions and the caller are not part of it.
struct QueryDigest: Hashable, Sendable {
    static let byteCount = 8

    let bytes: [UInt8]

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// - Parameters:
    ///   - condition: the predicate as it is in the statement.
    ///   - order: the sort as it is in the statement, not reversed for a page that is read backwards.
    init(_ query: ResolvedQuery, _ text: QueryText, condition: SQL, order: SQL) {
        var identity: [UInt8] = []
        identity.reserveCapacity(1024)
        func add(_ name: String) { identity.append(counted: Array(name.utf8)[...]) }
        add(text.root.schema.name)
        switch query.visibility.records.database {
        case .everyone: add("_public")
        case .union: add("_union")
        case .user(let user): add("/" + user.rawValue)
        }
        add(query.type.rawValue)
        condition.appendIdentity(to: &identity)
        for join in query.joins.prefix(query.comparedJoins) {
            add(join.target.rawValue)
            text.key(join).appendIdentity(to: &identity)
        }
        order.appendIdentity(to: &identity)
        for key in query.sort { identity.append(CursorValues.code(of: key.column.kind)) }
        var hash = SHA256()
        hash.update(identity)
        bytes = Array(hash.finish().bytes.prefix(Self.byteCount))
    }
}
