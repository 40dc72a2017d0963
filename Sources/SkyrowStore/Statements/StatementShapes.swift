internal import SkyrowModel
internal import SkyrowPostgres
internal import Synchronization

/// A statement without its values, as the key of its cached text.
///
/// The text is made only from the members of the case and from the table that caches it; it does not depend on the caller, roles
/// or values. Requests with equal keys therefore have the same text, and a text that comes to depend on something new needs a new
/// member, which is then part of the key.
enum StatementText: Hashable, Sendable {
    case fetchMany(AccessShape)
    /// A fetch from the databases of all users.
    case fetchUnion(AccessShape)
    /// The access condition of a query on the rows of an alias.
    case readCondition(AccessShape, on: SQLIdentifier)
    case save(SaveText)
    case delete(AccessShape)
    /// Which records a caller may read, and which it may change or delete.
    case judge(read: AccessShape, AccessShape)
    /// Which records may be referred to: public ones, and the caller's private ones if the write is to its private database.
    case lookUp(shared: AccessShape, own: AccessShape?)

    func template(on table: RecordTable) -> StatementTemplate {
        switch self {
        case .fetchMany(let access): FetchStatement.many(access, on: table)
        case .fetchUnion(let access): FetchStatement.union(access, on: table)
        case .readCondition(let access, let alias): access.condition(on: alias)
        case .save(let text): text.template(on: table)
        case .delete(let access): DeleteStatement.template(access, on: table)
        case .judge(let read, let scope): JudgeStatement.template(read: read, scope, on: table)
        case .lookUp(let shared, let own): ReferenceLookup.template(shared: shared, own: own, on: table)
        }
    }
}

/// The cached texts of the statements on one table, so that no text is built twice.
///
/// A table owns its texts: when the schema changes, another table takes its place.
package final class StatementShapes: Sendable {
    private let shapes = FirstBuilt<StatementText, StatementTemplate>()
    private let coalesced = FirstBuilt<AccessShape, (StatementTemplate, CoalescedStatement)>()

    package init() {}

    /// Returns the text of a statement on the table that owns these texts.
    func template(_ text: StatementText, on table: RecordTable) -> StatementTemplate {
        shapes.value(text) { text.template(on: table) }
    }

    /// Returns the fetch by one id and its coalesced form. All uses of a shape share one ``CoalescedStatement``.
    func coalescing(_ access: AccessShape, on table: RecordTable) -> (StatementTemplate, CoalescedStatement) {
        coalesced.value(access) {
            let many = FetchStatement.coalesced(access, on: table)
            return (FetchStatement.one(access, on: table), CoalescedStatement(many: many.unbound))
        }
    }
}

/// Values by shape, each built on first use. If two tasks build one at once, the first one stays.
private final class FirstBuilt<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// Upper bound on the shapes of one table; a full cache is emptied, which costs least.
    private static var capacity: Int { 512 }

    private let known = Mutex<[Key: Value]>([:])

    func value(_ key: Key, build: () -> Value) -> Value {
        if let value = known.withLock({ $0[key] }) { return value }
        let built = build()
        return known.withLock { known in
            if let first = known[key] { return first }
            if known.count >= Self.capacity { known.removeAll(keepingCapacity: true) }
            known[key] = built
            return built
        }
    }
}
