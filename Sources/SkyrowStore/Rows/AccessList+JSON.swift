package import SkyrowModel

/// The stored form of an access list, `[{"level": "read", "public": true}, …]` in a `jsonb` column.
extension AccessList {
    /// Reads what a column holds, with the meaning the SQL condition gives it.
    ///
    /// Whatever psql wrote is read: an element admits whom it names with a level of ours, and is otherwise passed over;
    /// a text that is no array is an empty list, which admits the owner alone.
    package init(storedJSON text: UnsafeRawBufferPointer) {
        var scanner = AccessListScanner(text: text)
        self.init(scanner.entries())
    }

    /// The text for the column; its members are in the order `jsonb` gives them.
    package var storedJSON: String {
        var json = "["
        for (index, entry) in entries.enumerated() {
            if index > 0 { json += ", " }
            json += "{\"level\": \"\(entry.level.rawValue)\", "
            switch entry.subject {
            case .everyone: json += "\"public\": true"
            case .owner: json += "\"owner\": true"
            case .user(let id):
                json += "\"user_id\": "
                json.appendJSON(string: id.rawValue)
            case .role(let name):
                json += "\"role\": "
                json.appendJSON(string: name.rawValue)
            }
            json += "}"
        }
        return json + "]"
    }
}

/// Reads JSON that PostgreSQL wrote, and so is valid, for the access entries in it.
private struct AccessListScanner {
    let text: UnsafeRawBufferPointer
    var position = 0

    private enum Value {
        case string(String)
        case boolean(Bool)
        case other
    }

    init(text: UnsafeRawBufferPointer) {
        self.text = text
    }

    mutating func entries() -> [AccessEntry] {
        var entries: [AccessEntry] = []
        guard next() == UInt8(ascii: "[") else { return [] }
        position += 1
        while let byte = next(), byte != UInt8(ascii: "]") {
            if byte == UInt8(ascii: ",") {
                position += 1
            } else if byte == UInt8(ascii: "{") {
                entries += object()
            } else {
                _ = value()
            }
        }
        return entries
    }

    /// The entries of one element; several when it names several subjects.
    private mutating func object() -> [AccessEntry] {
        position += 1
        var subjects: [AccessSubject] = []
        var level: AccessLevel?
        while let byte = next(), byte != UInt8(ascii: "}") {
            guard byte == UInt8(ascii: "\"") else {
                position += 1
                continue
            }
            let name = string()
            guard next() == UInt8(ascii: ":") else { return [] }
            position += 1
            switch (name, value()) {
            case ("level", .string(let text)): level = AccessLevel(rawValue: text)
            case ("public", .boolean(true)): subjects.append(.everyone)
            case ("owner", .boolean(true)): subjects.append(.owner)
            case ("user_id", .string(let id)): subjects.append(.user(UserID(id)))
            case ("role", .string(let name)): subjects.append(.role(RoleName(name)))
            default: break
            }
        }
        position += 1
        guard let level else { return [] }
        return subjects.map { AccessEntry($0, level) }
    }

    private mutating func value() -> Value {
        switch next() {
        case UInt8(ascii: "\""):
            return .string(string())
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            skipNested()
            return .other
        default:
            let start = position
            while position < text.count, !",]}: ".utf8.contains(text[position]) { position += 1 }
            if position == start { position += 1 }
            switch String(decoding: text[start..<position], as: UTF8.self) {
            case "true": return .boolean(true)
            case "false": return .boolean(false)
            default: return .other
            }
        }
    }

    private mutating func skipNested() {
        var depth = 0
        repeat {
            guard let byte = next() else { return }
            switch byte {
            case UInt8(ascii: "\""):
                _ = string()
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            default: break
            }
            position += 1
        } while depth > 0
    }

    /// The next byte that is no white space, without passing it.
    private mutating func next() -> UInt8? {
        while position < text.count, text[position] == UInt8(ascii: " ") { position += 1 }
        return position < text.count ? text[position] : nil
    }

    /// A string with its escapes; `jsonb` writes `\uXXXX` for control characters only.
    private mutating func string() -> String {
        position += 1
        var bytes: [UInt8] = []
        while position < text.count, text[position] != UInt8(ascii: "\"") {
            guard text[position] == UInt8(ascii: "\\"), position + 1 < text.count else {
                bytes.append(text[position])
                position += 1
                continue
            }
            let escape = text[position + 1]
            position += 2
            switch escape {
            case UInt8(ascii: "b"): bytes.append(0x08)
            case UInt8(ascii: "f"): bytes.append(0x0C)
            case UInt8(ascii: "n"): bytes.append(0x0A)
            case UInt8(ascii: "r"): bytes.append(0x0D)
            case UInt8(ascii: "t"): bytes.append(0x09)
            case UInt8(ascii: "u"):
                let digits = text[position..<min(position + 4, text.count)]
                position += digits.count
                let code = UInt32(String(decoding: digits, as: UTF8.self), radix: 16)
                bytes += String(Character(code.flatMap(Unicode.Scalar.init) ?? "\u{FFFD}")).utf8
            default: bytes.append(escape)
            }
        }
        position += 1
        return String(decoding: bytes, as: UTF8.self)
    }
}
