internal import SkyrowModel

extension JSONView {
    /// The number of bytes of PostgreSQL's text of the value as `jsonb`, which has a space after each comma and colon, no
    /// exponents, and the last of members with the same name.
    package var storedLength: Int {
        switch kind {
        case .null, .true: return 4
        case .false: return 5
        case .integer, .number: return storedNumberLength
        case .string, .escapedString: return Self.storedLength(of: string ?? "")
        case .array:
            return elements.reduce(2 + 2 * max(count - 1, 0)) { $0 + $1.storedLength }
        case .object:
            let members = uniqueMembers
            return members.reduce(2 + 2 * max(members.count - 1, 0)) {
                $0 + Self.storedLength(of: $1.name) + 2 + $1.value.storedLength
            }
        }
    }

    /// The number of nested containers including the value itself: 0 for a scalar, 1 for `[]`.
    package var depth: Int {
        switch kind {
        case .array: elements.reduce(0) { max($0, $1.depth) } + 1
        case .object: members.reduce(0) { max($0, $1.value.depth) } + 1
        case .null, .false, .true, .integer, .number, .string, .escapedString: 0
        }
    }

    /// The length of a string with its quotes and escapes (`escape_json` of PostgreSQL).
    private static func storedLength(of text: String) -> Int {
        text.withBytes { bytes in
            bytes.reduce(2) { length, byte in
                switch byte {
                case 0x08, 0x09, 0x0A, 0x0C, 0x0D, UInt8(ascii: "\""), UInt8(ascii: "\\"): length + 2
                case 0..<0x20: length + 6
                default: length + 1
                }
            }
        }
    }

    /// The length of a number, which keeps the digits of its fraction unless its exponent makes them whole.
    private var storedNumberLength: Int {
        guard let decimal = JSONDecimal(self) else { return slice.count }
        var fraction = 0
        var exponent = 0
        var isFraction = false
        var isExponent = false
        var isNegative = false
        for byte in slice {
            switch byte {
            case UInt8(ascii: "."): isFraction = true
            case UInt8(ascii: "e"), UInt8(ascii: "E"): isExponent = true
            case UInt8(ascii: "-"): if isExponent { isNegative = true }
            case UInt8(ascii: "+"): break
            default:
                if isExponent {
                    exponent = min(exponent * 10 + Int(byte &- UInt8(ascii: "0")), 1_000_000)
                } else if isFraction {
                    fraction += 1
                }
            }
        }
        let scale = max(fraction - (isNegative ? -exponent : exponent), 0)
        return (decimal.isNegative ? 1 : 0) + max(decimal.exponent + 1, 1) + (scale > 0 ? scale + 1 : 0)
    }
}
