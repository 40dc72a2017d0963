internal import SkyrowPostgres
internal import Synchronization

/// The texts of the statements on one table, by their shape, so that a request builds no text it has built before.
///
/// A table keeps them and they go with it: when the schema changes, another table takes its place.
package final class StatementShapes: Sendable {
    /// What a statement's text depends on beside its table.
    package struct Key: Hashable, Sendable {
        package enum Action: Hashable, Sendable {
            case fetchOne
            case fetchMany
            case readCondition
            case save(SaveShape, isOne: Bool, hasInstant: Bool, isMaster: Bool)
        }

        var action: Action
        var access: AccessShape
    }

    private let shapes = FirstBuilt<SQL>()
    private let gatherings = FirstBuilt<(SQL, PostgresGathering)>()

    package init() {}

    /// The statement of a shape, its values to be bound; `build` makes it the first time.
    func shape(_ key: Key, build: () throws -> SQL) rethrows -> SQL {
        try shapes.value(key) { try build().binding(PostgresBindings()) }
    }

    /// The statement of a shape in its two forms; all uses of a shape get one ``PostgresGathering``, by which they meet.
    func gathering(_ key: Key, build: () -> (one: SQL, many: SQL)) -> (SQL, PostgresGathering) {
        gatherings.value(key) {
            let (one, many) = build()
            return (one.binding(PostgresBindings()), PostgresGathering(many: many.binding(PostgresBindings())))
        }
    }
}

/// Values by shape, each built when it is first asked for; of two that are built at once the first one stays.
private final class FirstBuilt<Value: Sendable>: Sendable {
    /// Beyond so many shapes of one table the least work is to begin again.
    private static var capacity: Int { 512 }

    private let known = Mutex<[StatementShapes.Key: Value]>([:])

    func value(_ key: StatementShapes.Key, build: () throws -> Value) rethrows -> Value {
        if let value = known.withLock({ $0[key] }) { return value }
        let built = try build()
        return known.withLock { known in
            if let first = known[key] { return first }
            if known.count >= Self.capacity { known.removeAll(keepingCapacity: true) }
            known[key] = built
            return built
        }
    }
}

/// What the text of an access condition depends on.
package struct AccessShape: Hashable, Sendable {
    var bits: UInt16
}
