/// Two forms of a read of at most one row: for one use, and for all uses that wait at the same time.
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
/// Coalescing goes by object identity, so keep the object as long as the text of the single form.
package final class CoalescedStatement: Sendable {
    /// The form for many uses. It takes an array for each value of the single form, in the same order, and returns the columns of
    /// the single form followed by the 1-based index, as `bigint`, of the use that the row belongs to.
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

/// Decides which neighbours in a batch are sent as one statement.
enum CoalescingPlan {
    /// Returns the same elements, with those of one coalesced statement moved next to
    /// the first of them; the others keep their order.
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

    /// Adjacent requests that are sent as one statement.
    struct Run {
        var members: Range<Int>
        /// The statement that they share; nil for a request that is sent alone.
        var statement: CoalescedStatement?
    }

    /// Groups adjacent requests of one coalesced statement; each of the others forms its own run.
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
    /// The values of several uses of one statement, as an array for each placeholder.
    ///
    /// `uses` have the same types. Returns nil when one failed to encode, or when a type has no array type listed here.
    static func coalesced(_ uses: [PostgresBindings]) -> PostgresBindings? {
        guard let first = uses.first, uses.allSatisfy({ $0.failure == nil && $0.count == first.count }) else {
            return nil
        }
        var coalesced = PostgresBindings()
        // An array has a header, and each element has a length.
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
    /// The array type of this element type; nil for types that are never coalesced.
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
