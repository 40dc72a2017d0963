/// The values of a statement in PostgreSQL's binary form, all in one buffer.
package struct PostgresBindings: Sendable {
    /// Where one value lies in the buffer.
    struct Value: Sendable {
        var type: PostgresOID
        var offset: Int
        /// The length in bytes, or -1 for NULL.
        var length: Int
    }

    private(set) var encoder = PostgresEncoder()
    private(set) var values: [Value] = []

    /// The first value that could not be encoded; the statement fails with it instead of being sent.
    private(set) var failure: PostgresError?

    package init() {}

    package var count: Int { values.count }

    package var isEmpty: Bool { values.isEmpty }

    package mutating func reserveCapacity(values: Int, bytes: Int) {
        self.values.reserveCapacity(values)
        encoder.reserveCapacity(bytes)
    }

    /// Adds the value of the next placeholder.
    package mutating func append<Value: PostgresEncodable>(_ value: Value) {
        let offset = encoder.count
        guard !value.isPostgresNull else {
            values.append(.init(type: Value.postgresType, offset: offset, length: -1))
            return
        }
        do throws(PostgresError) {
            try value.encode(into: &encoder)
        } catch {
            failure = failure ?? error
        }
        values.append(.init(type: Value.postgresType, offset: offset, length: encoder.count - offset))
    }

    /// Adds all values of another statement behind these.
    package mutating func append(contentsOf other: PostgresBindings) {
        let base = encoder.count
        encoder.append(other.encoder)
        for var value in other.values {
            value.offset += base
            values.append(value)
        }
        failure = failure ?? other.failure
    }

    mutating func fail(_ error: PostgresError) {
        failure = failure ?? error
    }
}
