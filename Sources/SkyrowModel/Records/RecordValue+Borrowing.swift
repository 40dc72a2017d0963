// Parts of values that are lent without a copy.

extension [RecordValue] {
    /// Lends the elements of an array, whose texts are copied into one buffer.
    func withBorrowed(_ body: (UnsafeBufferPointer<BorrowedValue>) -> Void) {
        var texts: [UInt8] = []
        for element in self {
            switch element {
            case .string(let text): texts += text.utf8
            case .reference(let id): texts += id.type.rawValue.utf8 + [UInt8](id.id.utf8)
            default: break
            }
        }
        texts.withUnsafeBytes { bytes in
            var place = 0
            func next(_ length: Int) -> UnsafeRawBufferPointer {
                defer { place += length }
                return UnsafeRawBufferPointer(rebasing: bytes[place..<place + length])
            }
            let elements = map { element -> BorrowedValue in
                switch element {
                case .string(let text): .string(next(text.utf8.count))
                case .integer(let value): .integer(value)
                case .number(let value): .number(value)
                case .boolean(let value): .boolean(value)
                case .reference(let id):
                    .reference(type: next(id.type.rawValue.utf8.count), id: next(id.id.utf8.count))
                // No other value is an element (``ElementType``).
                default: .null
                }
            }
            elements.withUnsafeBufferPointer(body)
        }
    }
}

extension RecordID {
    /// Copies a borrowed id; nil for an invalid one.
    package init?(type: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer) {
        guard let name = try? RecordTypeName(String(decoding: type, as: UTF8.self)) else { return nil }
        try? self.init(type: name, id: String(decoding: id, as: UTF8.self))
    }

    /// Lends the two parts in UTF-8.
    package func withBytes(_ body: (_ type: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer) -> Void) {
        type.rawValue.withBytes { type in id.withBytes { body(type, $0) } }
    }
}

extension String {
    package func withBytes(_ body: (UnsafeRawBufferPointer) -> Void) {
        var text = self
        text.withUTF8 { body(UnsafeRawBufferPointer($0)) }
    }
}
