internal import SkyrowModel
internal import SkyrowPostgres
internal import Synchronization

/// A statement without its values, and the key by which its text is kept.
///
/// Its text is made of the members of the case and the table it is kept with, and of nothing else: who calls, with which
/// roles and values is not here. So two requests with equal keys have the same text, and a text that comes to depend on
/// something new needs a new member, which is part of the key.
enum StatementText: Hashable, Sendable {
    case fetchMany(AccessShape)
    /// A fetch from the databases of all users.
    case fetchUnion(AccessShape)
    /// The access condition of a query on the rows of an alias.
    case readCondition(AccessShape, on: SQLIdentifier)
    case save(SaveText)
    case delete(AccessShape)
    /// What records are to a caller: which may be read, and which may be changed or deleted.
    case judge(read: AccessShape, AccessShape)
    /// Which records may be referred to: public ones, and the caller's own where they are written to its private database.
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

/// The texts of the statements on one table, by what they are made of, so that a request builds no text it has built
/// before.
///
/// A table keeps them and they go with it: when the schema changes, another table takes its place.
package final class StatementShapes: Sendable {
    private let shapes = FirstBuilt<StatementText, StatementTemplate>()
    private let coalesced = FirstBuilt<AccessShape, (StatementTemplate, CoalescedStatement)>()

    package init() {}

    /// The text on the table that these are the texts of.
    func template(_ text: StatementText, on table: RecordTable) -> StatementTemplate {
        shapes.value(text) { text.template(on: table) }
    }

    /// A fetch by one id in its two forms; all uses of a shape get one ``CoalescedStatement``, by which they meet.
    func coalescing(_ access: AccessShape, on table: RecordTable) -> (StatementTemplate, CoalescedStatement) {
        coalesced.value(access) {
            let many = FetchStatement.coalesced(access, on: table)
            return (FetchStatement.one(access, on: table), CoalescedStatement(many: many.unbound))
        }
    }
}

/// Values by shape, each built when it is first asked for; of two that are built at once the first one stays.
private final class FirstBuilt<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// Beyond this many shapes of one table the least work is to begin again.
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
