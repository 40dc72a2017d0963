@testable import SkyrowJSON

/// A JSON value as a tree, and a slow reader written from the grammar of RFC 8259 alone, to hold the parser against.
indirect enum ReferenceJSON: Equatable {
    case null
    case boolean(Bool)
    /// As it was written.
    case number(String)
    case string(String)
    case array([ReferenceJSON])
    /// In order, names that come again included.
    case object([Member])

    struct Member: Equatable {
        var name: String
        var value: ReferenceJSON

        /// Names and strings are the same when their bytes are; `==` on strings ignores normalisation.
        static func == (a: Member, b: Member) -> Bool {
            Array(a.name.utf8) == Array(b.name.utf8) && a.value == b.value
        }
    }

    static func == (a: ReferenceJSON, b: ReferenceJSON) -> Bool {
        switch (a, b) {
        case (.null, .null): true
        case (.boolean(let a), .boolean(let b)): a == b
        case (.number(let a), .number(let b)): a == b
        case (.string(let a), .string(let b)): Array(a.utf8) == Array(b.utf8)
        case (.array(let a), .array(let b)): a == b
        case (.object(let a), .object(let b)): a == b
        default: false
        }
    }

    /// nil when the bytes are no JSON text.
    init?(_ bytes: [UInt8], depthLimit: Int = 64) {
        guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
        var reader = Reader(scalars: Array(text.unicodeScalars), depthLimit: depthLimit)
        guard let value = reader.text() else { return nil }
        self = value
    }

    private struct Reader {
        let scalars: [Unicode.Scalar]
        let depthLimit: Int
        var place = 0

        init(scalars: [Unicode.Scalar], depthLimit: Int) {
            self.scalars = scalars
            self.depthLimit = depthLimit
        }

        var next: Unicode.Scalar? { place < scalars.count ? scalars[place] : nil }

        mutating func take(_ scalar: Unicode.Scalar) -> Bool {
            guard next == scalar else { return false }
            place += 1
            return true
        }

        mutating func take(anyOf set: String) -> Unicode.Scalar? {
            guard let scalar = next, set.unicodeScalars.contains(scalar) else { return nil }
            place += 1
            return scalar
        }

        mutating func space() {
            while take(anyOf: " \n\r\t") != nil {}
        }

        mutating func text() -> ReferenceJSON? {
            space()
            guard let value = value(depth: 0) else { return nil }
            space()
            return place == scalars.count ? value : nil
        }

        mutating func value(depth: Int) -> ReferenceJSON? {
            switch next {
            case "[": return array(depth: depth + 1)
            case "{": return object(depth: depth + 1)
            case "\"": return string().map { .string($0) }
            case "t": return word("true", .boolean(true))
            case "f": return word("false", .boolean(false))
            case "n": return word("null", .null)
            default: return number()
            }
        }

        mutating func word(_ word: String, _ value: ReferenceJSON) -> ReferenceJSON? {
            for scalar in word.unicodeScalars where !take(scalar) { return nil }
            return value
        }

        mutating func array(depth: Int) -> ReferenceJSON? {
            guard depth <= depthLimit, take("[") else { return nil }
            var elements: [ReferenceJSON] = []
            space()
            if take("]") { return .array([]) }
            repeat {
                space()
                guard let element = value(depth: depth) else { return nil }
                elements.append(element)
                space()
            } while take(",")
            return take("]") ? .array(elements) : nil
        }

        mutating func object(depth: Int) -> ReferenceJSON? {
            guard depth <= depthLimit, take("{") else { return nil }
            var members: [Member] = []
            space()
            if take("}") { return .object([]) }
            repeat {
                space()
                guard let name = string() else { return nil }
                space()
                guard take(":") else { return nil }
                space()
                guard let value = value(depth: depth) else { return nil }
                members.append(Member(name: name, value: value))
                space()
            } while take(",")
            return take("}") ? .object(members) : nil
        }

        mutating func number() -> ReferenceJSON? {
            var text = ""
            func isDigit(_ scalar: Unicode.Scalar?) -> Bool { scalar.map { ("0"..."9").contains($0) } ?? false }
            func digits() -> Bool {
                guard isDigit(next) else { return false }
                while isDigit(next) {
                    text.unicodeScalars.append(scalars[place])
                    place += 1
                }
                return true
            }
            if take("-") { text += "-" }
            if take("0") { text += "0" } else if !digits() { return nil }
            if take(".") {
                text += "."
                if !digits() { return nil }
            }
            if let mark = take(anyOf: "eE") {
                text.unicodeScalars.append(mark)
                if let sign = take(anyOf: "+-") { text.unicodeScalars.append(sign) }
                if !digits() { return nil }
            }
            return .number(text)
        }

        mutating func string() -> String? {
            guard take("\"") else { return nil }
            var text = ""
            while let scalar = next {
                place += 1
                switch scalar {
                case "\"": return text
                case "\\":
                    guard let scalar = escape() else { return nil }
                    text.unicodeScalars.append(scalar)
                case let control where control.value < 0x20: return nil
                case let plain: text.unicodeScalars.append(plain)
                }
            }
            return nil
        }

        mutating func escape() -> Unicode.Scalar? {
            switch take(anyOf: "\"\\/bfnrtu") {
            case "b": return "\u{8}"
            case "f": return "\u{C}"
            case "n": return "\n"
            case "r": return "\r"
            case "t": return "\t"
            case "u":
                guard let high = unit() else { return nil }
                if let scalar = Unicode.Scalar(high) { return scalar }
                guard (0xD800..<0xDC00).contains(high), take("\\"), take("u"), let low = unit(),
                    (0xDC00..<0xE000).contains(low)
                else { return nil }
                return Unicode.Scalar(UInt32(high - 0xD800) * 0x400 + UInt32(low - 0xDC00) + 0x10000)
            case let plain: return plain
            }
        }

        mutating func unit() -> UInt16? {
            guard place + 4 <= scalars.count else { return nil }
            let digits = scalars[place..<place + 4]
            guard digits.allSatisfy({ $0.properties.isASCIIHexDigit }) else { return nil }
            place += 4
            return UInt16(String(String.UnicodeScalarView(digits)), radix: 16)
        }
    }
}

extension ReferenceJSON {
    /// What a view shows, read through all of its accessors.
    init(_ view: JSONView) {
        switch view.kind {
        case .null: self = .null
        case .true, .false: self = .boolean(view.boolean!)
        case .integer, .number: self = .number(String(decoding: view.source, as: UTF8.self))
        case .string, .escapedString: self = .string(view.string!)
        case .array: self = .array(view.elements.map { ReferenceJSON($0) })
        case .object:
            self = .object(view.members.map { Member(name: $0.key.string!, value: ReferenceJSON($0.value)) })
        }
    }
}
