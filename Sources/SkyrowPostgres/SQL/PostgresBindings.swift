/// The values of a statement in PostgreSQL's binary format, in one buffer.
package struct PostgresBindings: Sendable {
    /// The position of one value in the buffer.
    struct Value: Sendable {
        var type: PostgresOID
        var offset: Int
        /// The length in bytes, or -1 for NULL.
        var length: Int
    }

    private(set) var encoder = PostgresEncoder()
    private(set) var values: [Value] = []

    /// The error of the first value that could not be encoded; the statement fails with it instead of being sent.
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
        append(Value.postgresType) { encoder throws(PostgresError) in
            guard !value.isPostgresNull else { return false }
            try value.encode(into: &encoder)
            return true
        }
    }

    /// Adds the value of the next placeholder, which `encode` appends; it returns false for NULL.
    package mutating func append(_ type: PostgresOID, _ encode: (inout PostgresEncoder) throws(PostgresError) -> Bool) {
        let offset = encoder.count
        var isNull = false
        do throws(PostgresError) {
            isNull = try !encode(&encoder)
        } catch {
            fail(error)
        }
        note(type, offset: offset, isNull: isNull)
    }

    /// Adds an array for the next placeholder, whose elements `encode` appends one by one; it returns false for NULL.
    ///
    /// Code for one element type uses this rather than the generic form, which dispatches on the type for each element.
    package mutating func append(
        array: PostgresOID,
        of element: PostgresOID,
        count: Int,
        _ encode: (Int, inout PostgresEncoder) throws(PostgresError) -> Bool
    ) {
        let offset = encoder.count
        do throws(PostgresError) {
            guard let length = Int32(exactly: count) else { throw .tooManyElements }
            let flag = encoder.appendArrayHeader(of: element, count: length)
            for index in 0..<count {
                let start = encoder.reserveLength()
                if try encode(index, &encoder) {
                    encoder.fillLength(at: start)
                } else {
                    encoder.fillNull(at: start, flag: flag)
                }
            }
        } catch {
            fail(error)
        }
        note(array, offset: offset)
    }

    /// Records the next value, which was encoded from `offset` on.
    private mutating func note(_ type: PostgresOID, offset: Int, isNull: Bool = false) {
        values.append(Value(type: type, offset: offset, length: isNull ? -1 : encoder.count - offset))
    }

    /// Adds all values of another statement after these.
    package mutating func append(contentsOf other: PostgresBindings) {
        let base = encoder.count
        encoder.append(other.encoder)
        for var value in other.values {
            value.offset += base
            values.append(value)
        }
        failure = failure ?? other.failure
    }

    /// Adds one value of another statement after these; adds nothing when the index is out of range.
    package mutating func append(valueAt place: Int, of other: PostgresBindings) {
        guard other.values.indices.contains(place) else { return }
        var value = other.values[place]
        let offset = encoder.count
        if value.length > 0 {
            other.encoder.bytes.withUnsafeBytes { bytes in
                encoder.append(
                    bytes: UnsafeRawBufferPointer(rebasing: bytes[value.offset..<(value.offset + value.length)])
                )
            }
        }
        value.offset = offset
        values.append(value)
        failure = failure ?? other.failure
    }

    /// Adds an array whose elements are values of other statements, in the format of array_send.
    mutating func append(array: PostgresOID, of element: PostgresOID, _ elements: [(bytes: [UInt8], value: Value)]) {
        let offset = encoder.count
        let flag = encoder.appendArrayHeader(of: element, count: Int32(truncatingIfNeeded: elements.count))
        for (bytes, value) in elements {
            let start = encoder.reserveLength()
            guard value.length >= 0 else {
                encoder.fillNull(at: start, flag: flag)
                continue
            }
            bytes.withUnsafeBytes { bytes in
                encoder.append(
                    bytes: UnsafeRawBufferPointer(rebasing: bytes[value.offset..<(value.offset + value.length)])
                )
            }
            encoder.fillLength(at: start)
        }
        note(array, offset: offset)
    }

    mutating func fail(_ error: PostgresError) {
        failure = failure ?? error
    }
}
