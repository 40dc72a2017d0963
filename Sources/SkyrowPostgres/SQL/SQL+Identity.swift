extension SQL {
    /// Appends the identity of the statement: its text, and the types and bytes of its values, each preceded by its length.
    ///
    /// Two statements append the same bytes only when they are equal.
    package func appendIdentity(to bytes: inout [UInt8]) {
        bytes.append(counted: utf8[...])
        bytes.append(number: bindings.values.count)
        for value in bindings.values {
            bytes.append(number: Int(value.type.rawValue) << 32 | Int(UInt32(truncatingIfNeeded: value.length)))
        }
        bytes += bindings.encoder.bytes
    }

    /// The total size of the values in bytes.
    package var valueBytes: Int { bindings.encoder.bytes.count }
}

extension [UInt8] {
    /// Appends a byte count, then the bytes.
    package mutating func append(counted bytes: ArraySlice<UInt8>) {
        append(number: bytes.count)
        self += bytes
    }

    fileprivate mutating func append(number: Int) {
        Swift.withUnsafeBytes(of: Int64(number).bigEndian) { append(contentsOf: $0) }
    }
}
