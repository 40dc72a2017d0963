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

    /// Beyond so many shapes of one table the least work is to begin again.
    private static let capacity = 512

    private let shapes = Mutex<[Key: SQL]>([:])
    private let gatherings = Mutex<[Key: (SQL, PostgresGathering)]>([:])

    package init() {}

    /// The statement of a shape, its values to be bound; `build` makes it the first time.
    func shape(_ key: Key, build: () throws -> SQL) rethrows -> SQL {
        if let known = shapes.withLock({ $0[key] }) { return known }
        let built = try build().binding(PostgresBindings())
        shapes.withLock { shapes in
            if shapes.count >= Self.capacity { shapes.removeAll(keepingCapacity: true) }
            shapes[key] = built
        }
        return built
    }

    /// The statement of a shape in its two forms.
    func gathering(_ key: Key, build: () -> (one: SQL, many: SQL)) -> (SQL, PostgresGathering) {
        if let known = gatherings.withLock({ $0[key] }) { return known }
        let (one, many) = build()
        let built = (
            one.binding(PostgresBindings()), PostgresGathering(many: many.binding(PostgresBindings()))
        )
        // Whoever comes first decides which object it is, so that all uses meet.
        return gatherings.withLock { gatherings in
            if let known = gatherings[key] { return known }
            if gatherings.count >= Self.capacity { gatherings.removeAll(keepingCapacity: true) }
            gatherings[key] = built
            return built
        }
    }
}

/// What the text of an access condition depends on.
package struct AccessShape: Hashable, Sendable {
    var bits: UInt16
}
