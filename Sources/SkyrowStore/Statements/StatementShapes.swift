internal import SkyrowPostgres
internal import Synchronization

/// A statement without its values, and the key by which its text is kept.
///
/// Its text is made of the members of the case and the table it is kept with, and of nothing else: who calls, with which
/// roles and values is not here. So two requests with equal keys have the same text, and a text that comes to depend on
/// something new needs a new member, which is part of the key.
enum StatementText: Hashable, Sendable {
    case fetchMany(AccessShape)
    /// The access condition of a query on its rows `r`.
    case readCondition(AccessShape)
    case save(SaveText)

    /// The text on a table, its values to be bound.
    func sql(on table: RecordTable) -> SQL {
        switch self {
        case .fetchMany(let access): FetchStatement.manyText(access, on: table)
        case .readCondition(let access): access.condition(on: "r", rows: .many)
        case .save(let text): text.sql(on: table)
        }
    }
}

/// The texts of the statements on one table, by what they are made of, so that a request builds no text it has built
/// before.
///
/// A table keeps them and they go with it: when the schema changes, another table takes its place.
package final class StatementShapes: Sendable {
    private let shapes = FirstBuilt<StatementText, SQL>()
    private let coalesced = FirstBuilt<AccessShape, (SQL, CoalescedStatement)>()

    package init() {}

    /// The text on the table that these are the texts of, its values to be bound.
    func sql(_ text: StatementText, on table: RecordTable) -> SQL {
        shapes.value(text) { text.sql(on: table).binding(PostgresBindings()) }
    }

    /// A fetch by one id in its two forms; all uses of a shape get one ``CoalescedStatement``, by which they meet.
    func coalescing(_ access: AccessShape, on table: RecordTable) -> (SQL, CoalescedStatement) {
        coalesced.value(access) {
            let one = FetchStatement.oneText(access, on: table)
            let many = FetchStatement.coalescedText(access, on: table)
            return (one.binding(PostgresBindings()), CoalescedStatement(many: many.binding(PostgresBindings())))
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
