// Conversions between a value and the form that a sink takes. A new value type is added to both.

extension RecordValue {
    /// Lends the value to `body`; does nothing for `null`, and for a sequence, which requests a number and has no value.
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
        case .geometry(let geometry): geometry.ewkb.withUnsafeBytes { body(.geometry($0)) }
        case .array(let elements): elements.withBorrowed { body(.array($0)) }
        case .relation(let type): type.rawValue.withBytes { body(.relation(type: $0)) }
        }
    }

    /// Copies a borrowed value; nil for one that a field cannot hold.
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
        case .geometry(let ewkb):
            guard let geometry = Geometry(ewkb: ewkb) else { return nil }
            self = .geometry(geometry)
        case .array(let elements): self = .array(elements.map { RecordValue($0) ?? .null })
        case .relation(let type):
            guard let type = try? RecordTypeName(String(decoding: type, as: UTF8.self)) else { return nil }
            self = .relation(type)
        case .unknown: return nil
        }
    }
}

extension [RecordValue] {
    /// Lends the elements of an array, whose texts are copied into one buffer.
    fileprivate func withBorrowed(_ body: (UnsafeBufferPointer<BorrowedValue>) -> Void) {
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
