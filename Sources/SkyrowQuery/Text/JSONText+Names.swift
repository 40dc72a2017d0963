internal import SkyrowModel

extension JSONText {
    /// Whether the value is an array with this string as an element, an object with this key, or the string itself:
    /// PostgreSQL's `jsonb ? text`.
    func holds(_ text: String) -> Bool {
        var scanner = NameScanner(utf8: utf8)
        return scanner.finds(Array(text.utf8))
    }
}

/// Goes over the strings of a JSON text's first level; the text is known to be valid.
private struct NameScanner {
    let utf8: [UInt8]
    private var place = 0

    init(utf8: [UInt8]) {
        self.utf8 = utf8
    }

    mutating func finds(_ wanted: [UInt8]) -> Bool {
        var depth = 0
        var isObject = false
        // In an object the strings before a colon are keys, which come at its beginning and after commas.
        var isName = true
        while place < utf8.count {
            switch utf8[place] {
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                depth += 1
                if depth == 1 { isObject = utf8[place] == UInt8(ascii: "{") }
            case UInt8(ascii: "]"), UInt8(ascii: "}"):
                depth -= 1
            case UInt8(ascii: ":"):
                if depth == 1 { isName = false }
            case UInt8(ascii: ","):
                if depth == 1 { isName = true }
            case UInt8(ascii: "\""):
                let string = string()
                if depth == 0 || (depth == 1 && (isName || !isObject)), string == wanted { return true }
                continue
            default:
                break
            }
            place += 1
        }
        return false
    }

    /// The string whose opening quote is at the place, which is then behind its closing one.
    private mutating func string() -> [UInt8] {
        var result: [UInt8] = []
        place += 1
        while place < utf8.count, utf8[place] != UInt8(ascii: "\"") {
            if utf8[place] == UInt8(ascii: "\\") {
                appendEscape(to: &result)
            } else {
                result.append(utf8[place])
                place += 1
            }
        }
        place += 1
        return result
    }

    private mutating func appendEscape(to result: inout [UInt8]) {
        guard place + 1 < utf8.count else {
            place += 1
            return
        }
        let letter = utf8[place + 1]
        place += 2
        switch letter {
        case UInt8(ascii: "b"): result.append(0x08)
        case UInt8(ascii: "f"): result.append(0x0C)
        case UInt8(ascii: "n"): result.append(0x0A)
        case UInt8(ascii: "r"): result.append(0x0D)
        case UInt8(ascii: "t"): result.append(0x09)
        case UInt8(ascii: "u"):
            var value = hexadecimal()
            let isHigh = (0xD800...0xDBFF).contains(value)
            if isHigh, place + 5 < utf8.count, utf8[place] == UInt8(ascii: "\\"), utf8[place + 1] == UInt8(ascii: "u") {
                place += 2
                value = 0x10000 + (value - 0xD800) << 10 + (hexadecimal() &- 0xDC00)
            }
            let scalar = Unicode.Scalar(value) ?? "\u{FFFD}"
            result.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
        default: result.append(letter)
        }
    }

    /// The value of the four digits at the place, which is then behind them.
    private mutating func hexadecimal() -> UInt32 {
        let digits = utf8[place..<min(place + 4, utf8.count)]
        place += 4
        return digits.reduce(0) { value, digit in
            let number =
                digit <= UInt8(ascii: "9") ? digit &- UInt8(ascii: "0") : (digit | 0x20) &- UInt8(ascii: "a") &+ 10
            return value << 4 | UInt32(number & 0xF)
        }
    }
}
