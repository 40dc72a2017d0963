import SkyrowTestSupport

/// Makes JSON values and the many ways to write them.
struct JSONGenerator {
    var random: SeededGenerator

    init(_ random: SeededGenerator) {
        self.random = random
    }

    mutating func value(depth: Int = 4) -> ReferenceJSON {
        switch Int.random(in: 0..<(depth > 0 ? 8 : 5), using: &random) {
        case 0: return .null
        case 1: return .boolean(Bool.random(using: &random))
        case 2: return .number(number())
        case 3, 4: return .string(string())
        case 5: return .array((0..<Int.random(in: 0..<5, using: &random)).map { _ in value(depth: depth - 1) })
        default:
            return .object(
                (0..<Int.random(in: 0..<5, using: &random)).map { _ in
                    ReferenceJSON.Member(name: string(), value: value(depth: depth - 1))
                }
            )
        }
    }

    mutating func number() -> String {
        switch Int.random(in: 0..<5, using: &random) {
        case 0: return String(Int.random(in: -99...99, using: &random))
        case 1: return String(Int64.random(in: .min ... .max, using: &random))
        case 2: return "\(double())"
        case 3: return "\(Int.random(in: 0...999, using: &random)).\(Int.random(in: 0...999, using: &random))E+0"
        default:
            return
                "-\(UInt64.random(in: .min ... .max, using: &random))\(UInt64.random(in: .min ... .max, using: &random))"
        }
    }

    /// Any finite double: every exponent is as likely as every other.
    mutating func double() -> Double {
        while true {
            let value = Double(bitPattern: random.next())
            if value.isFinite { return value }
        }
    }

    mutating func string() -> String {
        var text = ""
        for _ in 0..<Int.random(in: 0..<24, using: &random) {
            let range: ClosedRange<UInt32> =
                switch Int.random(in: 0..<8, using: &random) {
                case 0: 0...0x1F
                case 1: 0x22...0x22
                case 2: 0x5C...0x5C
                case 3: 0x80...0x7FF
                case 4: 0x800...0xFFFF
                case 5: 0x1_0000...0x10_FFFF
                default: 0x20...0x7E
                }
            if let scalar = Unicode.Scalar(UInt32.random(in: range, using: &random)) {
                text.unicodeScalars.append(scalar)
            }
        }
        return text
    }

    /// One of the texts that mean a value.
    mutating func text(_ value: ReferenceJSON) -> String {
        let body: String
        switch value {
        case .null: body = "null"
        case .boolean(let flag): body = flag ? "true" : "false"
        case .number(let digits): body = digits
        case .string(let string): body = quoted(string)
        case .array(let elements):
            body = "[" + (elements.isEmpty ? space() : elements.map { text($0) }.joined(separator: ",")) + "]"
        case .object(let members):
            body =
                "{"
                + (members.isEmpty
                    ? space()
                    : members.map { space() + quoted($0.name) + space() + ":" + text($0.value) }.joined(separator: ","))
                + "}"
        }
        return space() + body + space()
    }

    private mutating func space() -> String {
        guard Int.random(in: 0..<4, using: &random) == 0 else { return "" }
        return ["", " ", "\n", "\r\n", "\t", "   "].randomElement(using: &random)!
    }

    private mutating func quoted(_ string: String) -> String {
        var text = "\""
        for scalar in string.unicodeScalars {
            let short: String? =
                switch scalar {
                case "\"": "\\\""
                case "\\": "\\\\"
                case "\u{8}": "\\b"
                case "\u{C}": "\\f"
                case "\n": "\\n"
                case "\r": "\\r"
                case "\t": "\\t"
                case "/": "\\/"
                default: nil
                }
            let mustEscape = scalar.value < 0x20 || scalar == "\"" || scalar == "\\"
            if let short, Bool.random(using: &random) {
                text += short
            } else if mustEscape || Int.random(in: 0..<6, using: &random) == 0 {
                for unit in String(scalar).utf16 {
                    let digits = String(unit, radix: 16, uppercase: Bool.random(using: &random))
                    text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                }
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return text + "\""
    }

    /// The bytes with a few of them changed, taken out or put in.
    mutating func mutation(of bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        let likely =
            Array("[]{}\",:\\u0123456789eE+-.tfnDdC \n".utf8) + [0x00, 0x1F, 0x7F, 0x80, 0xC2, 0xE2, 0xED, 0xF0, 0xFF]
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            let byte =
                Bool.random(using: &random)
                ? likely.randomElement(using: &random)! : UInt8.random(in: .min ... .max, using: &random)
            let place = Int.random(in: 0...bytes.count, using: &random)
            switch Int.random(in: 0..<3, using: &random) {
            case 0: bytes.insert(byte, at: place)
            case 1 where place < bytes.count: bytes[place] = byte
            case 2 where place < bytes.count: bytes.remove(at: place)
            default: bytes.removeLast(min(bytes.count, 1))
            }
        }
        return bytes
    }
}
