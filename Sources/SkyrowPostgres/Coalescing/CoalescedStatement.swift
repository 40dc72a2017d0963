/// Two forms of a read of at most one row: for one use, and for all the uses that wait at the same time.
///
/// ```swift
/// let notes = CoalescedStatement(
///     many: """
///         SELECT r.title, q.place FROM unnest(\([""])) WITH ORDINALITY AS q (id, place) JOIN note AS r ON r._id = q.id
///         """
/// )
/// let row = try await client.readOne("SELECT r.title FROM note AS r WHERE r._id = \(id)", coalescing: notes)
/// ```
///
/// An object: uses of the same one are coalesced, so keep it as long as the text of the single form.
package final class CoalescedStatement: Sendable {
    /// The form for many uses: an array for each value of the single form, in the same order; the columns of the single
    /// form, and behind them, as `bigint`, the place of the use that the row belongs to, from 1 on.
    package let many: SQL

    package init(many: SQL) {
        self.many = many
    }
}

/// One row of a result.
package struct PostgresRow: Sendable {
    package let result: PostgresResult
    package let index: Int
}

/// Which neighbours of a batch are asked in one statement.
enum CoalescingPlan {
    /// The same elements, those of one coalesced statement side by side where the first of them was; the others stay in order.
    static func arranged<Element>(_ elements: [Element], by statement: (Element) -> CoalescedStatement?) -> [Element] {
        guard let first = elements.first.map(statement),
            !elements.allSatisfy({ statement($0) === first })
        else { return elements }
        var places: [ObjectIdentifier: Int] = [:]
        var groups: [[Element]] = []
        for element in elements {
            guard let key = statement(element).map(ObjectIdentifier.init) else {
                groups.append([element])
                continue
            }
            if let place = places[key] {
                groups[place].append(element)
            } else {
                places[key] = groups.count
                groups.append([element])
            }
        }
        return groups.flatMap(\.self)
    }

    /// Neighbours that are asked in one statement.
    struct Run {
        var members: Range<Int>
        /// What they share; nil for one that is asked by itself.
        var statement: CoalescedStatement?
    }

    /// The neighbours of one coalesced statement, and each of the others by itself.
    static func runs(of coalesced: [CoalescedStatement?]) -> [Run] {
        var runs: [Run] = []
        var start = 0
        while start < coalesced.count {
            var end = start + 1
            if let own = coalesced[start] {
                while end < coalesced.count, coalesced[end] === own { end += 1 }
            }
            runs.append(Run(members: start..<end, statement: end - start > 1 ? coalesced[start] : nil))
            start = end
        }
        return runs
    }
}

extension PostgresBindings {
    /// The values of several uses of one statement, an array for each placeholder.
    ///
    /// `uses` have the same types. nil when one of them failed to encode, or a type has no array type that is known here.
    static func coalesced(_ uses: [PostgresBindings]) -> PostgresBindings? {
        guard let first = uses.first, uses.allSatisfy({ $0.failure == nil && $0.count == first.count }) else {
            return nil
        }
        var coalesced = PostgresBindings()
        // An array has a header, and each element its length.
        let bytes = uses.reduce(first.count * 20) { $0 + $1.encoder.count + $1.count * 4 }
        coalesced.reserveCapacity(values: first.count, bytes: bytes)
        for place in 0..<first.count {
            let element = first.values[place].type
            guard let array = element.array, uses.allSatisfy({ $0.values[place].type == element }) else { return nil }
            coalesced.append(array: array, of: element, uses.map { ($0.encoder.bytes, $0.values[place]) })
        }
        return coalesced
    }
}

extension PostgresOID {
    /// The type of arrays of this type; nil for what is never coalesced.
    fileprivate var array: PostgresOID? {
        switch self {
        case .text: .textArray
        case .int8: .int8Array
        case .float8: .float8Array
        case .bool: .boolArray
        case .timestamptz: .timestamptzArray
        default: nil
        }
    }
}
