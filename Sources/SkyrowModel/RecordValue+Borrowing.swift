// A value as a sink takes it, and back. A new value type is added to both.

extension RecordValue {
    /// Lends the value to `body`; does nothing for `null`, and for a sequence, which asks for a number and is none.
    package func withBorrowed(_ body: (BorrowedValue) -> Void) {
        switch self {
        case .null, .sequence: break
        case .string(let text): text.withBytes { body(.string($0)) }
        case .integer(let value): body(.integer(value))
        case .number(let value): body(.number(value))
        case .boolean(let value): body(.boolean(value))
        case .datetime(let value): body(.datetime(value))
        case .json(let text): text.utf8.withUnsafeBytes { body(.json($0)) }
        case .reference(let id): id.withBytes { body(.reference(type: $0, id: $1)) }
        case .bytes(let bytes): bytes.withUnsafeBytes { body(.bytes($0)) }
        case .location(let location): body(.location(location))
        }
    }

    /// A copy of a borrowed value; nil for what a field cannot hold.
    package init?(_ value: BorrowedValue) {
        switch value {
        case .null: self = .null
        case .boolean(let flag): self = .boolean(flag)
        case .integer(let number): self = .integer(number)
        case .number(let number): self = .number(number)
        case .string(let bytes): self = .string(String(decoding: bytes, as: UTF8.self))
        case .datetime(let instant), .plainDatetime(let instant): self = .datetime(instant)
        case .json(let text): self = .json(JSONText(validated: Array(text)))
        case .reference(let type, let id), .recordID(let type, let id):
            guard let target = RecordID(type: type, id: id) else { return nil }
            self = .reference(target)
        case .bytes(let bytes): self = .bytes(Array(bytes))
        case .location(let location): self = .location(location)
        case .unknown: return nil
        }
    }
}

extension RecordID {
    /// A copy of a borrowed id; nil for what is none.
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
    /// Lends the text in UTF-8.
    package func withBytes(_ body: (UnsafeRawBufferPointer) -> Void) {
        var text = self
        text.withUTF8 { body(UnsafeRawBufferPointer($0)) }
    }
}
