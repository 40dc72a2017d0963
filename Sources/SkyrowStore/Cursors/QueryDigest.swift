internal import SkyrowCrypto
internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowQuery

/// The first bytes of the SHA-256 of what makes a query the same: application, database, type, predicate and sort.
///
/// The predicate and the sort are those of the statement, in text and values: what makes another statement makes another
/// digest, whatever predicates there will be. Limit, fields and inclusions are no part of it, nor is who asks.
struct QueryDigest: Hashable, Sendable {
    static let byteCount = 8

    let bytes: [UInt8]

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    init(_ query: ResolvedQuery, _ text: QueryText, condition: SQL) {
        var hash = SHA256()
        func add(_ name: String) {
            let utf8 = Array(name.utf8)
            withUnsafeBytes(of: Int64(utf8.count).bigEndian) { hash.update($0) }
            hash.update(utf8)
        }
        func add(_ sql: SQL) { sql.withIdentity { hash.update($0) } }
        add(text.root.schema.name)
        switch query.visibility.records.database {
        case .everyone: add("_public")
        case .union: add("_union")
        case .user(let user): add("/" + user.rawValue)
        }
        add(query.type.rawValue)
        add(condition)
        for join in query.joins.prefix(query.comparedJoins) {
            add(join.target.rawValue)
            add(text.key(join))
        }
        add(text.order(query.sort))
        hash.update(query.sort.map { CursorValues.code(of: $0.column.kind) })
        bytes = Array(hash.finish().bytes.prefix(Self.byteCount))
    }
}
