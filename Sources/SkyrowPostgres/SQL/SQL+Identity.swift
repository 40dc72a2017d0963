extension SQL {
    /// Lends what makes the statement what it is: its text, and of each value the type, the length and the bytes.
    ///
    /// Two statements that lend the same bytes in all are the same. Each part has its length before it, so that no two
    /// differ only in where a part ends.
    package func withIdentity(_ body: (UnsafeRawBufferPointer) -> Void) {
        lend(Int64(utf8.count), body)
        utf8.withUnsafeBytes(body)
        lend(Int64(bindings.values.count), body)
        for value in bindings.values {
            lend(Int64(value.type.rawValue), body)
            lend(Int64(value.length), body)
            guard value.length > 0 else { continue }
            bindings.encoder.bytes[value.offset..<(value.offset + value.length)].withUnsafeBytes(body)
        }
    }

    private func lend(_ number: Int64, _ body: (UnsafeRawBufferPointer) -> Void) {
        withUnsafeBytes(of: number.bigEndian, body)
    }

    /// How many bytes the values have together.
    package var valueBytes: Int { bindings.encoder.bytes.count }
}
