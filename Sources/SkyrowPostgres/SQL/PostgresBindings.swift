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

    /// Adds an array whose elements are values of other statements, as array_send would write it.
    mutating func append(array: PostgresOID, of element: PostgresOID, _ elements: [(bytes: [UInt8], value: Value)]) {
        let offset = encoder.count
        encoder.append(Int32(1))
        encoder.append(Int32(elements.contains { $0.value.length < 0 } ? 1 : 0))
        encoder.append(element.rawValue)
        encoder.append(Int32(truncatingIfNeeded: elements.count))
        encoder.append(Int32(1))
        for (bytes, value) in elements {
            encoder.append(Int32(truncatingIfNeeded: value.length))
            guard value.length > 0 else { continue }
            bytes.withUnsafeBytes { bytes in
                encoder.append(
                    bytes: UnsafeRawBufferPointer(rebasing: bytes[value.offset..<(value.offset + value.length)])
                )
            }
        }
        values.append(Value(type: array, offset: offset, length: encoder.count - offset))
    }

    mutating func fail(_ error: PostgresError) {
        failure = failure ?? error
    }
}
