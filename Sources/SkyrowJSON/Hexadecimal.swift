/// Bytes and numbers as hexadecimal digits: written in lowercase, read in either case.
package enum Hexadecimal {
    /// The digit of a number below 16.
    @inlinable @inline(__always)
    package static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") &+ value : UInt8(ascii: "a") &- 10 &+ value
    }

    /// The number of a digit; nil for any other byte.
    @inlinable @inline(__always)
    package static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// Returns two digits for each byte.
    package static func text(_ bytes: some Sequence<UInt8>) -> String {
        var digits: [UInt8] = []
        digits.reserveCapacity(2 * bytes.underestimatedCount)
        for byte in bytes {
            digits.append(digit(byte >> 4))
            digits.append(digit(byte & 15))
        }
        return String(decoding: digits, as: UTF8.self)
    }

    /// Returns the bytes of an even number of digits; nil for anything else.
    package static func bytes(_ text: some Collection<UInt8>) -> [UInt8]? {
        guard text.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 2)
        var high: UInt8?
        for byte in text {
            guard let value = value(byte) else { return nil }
            if let first = high {
                bytes.append(first << 4 | value)
                high = nil
            } else {
                high = value
            }
        }
        return bytes
    }

    /// Returns 16 digits for each word.
    package static func text(of words: [UInt64]) -> String {
        String(unsafeUninitializedCapacity: 16 * words.count) { target in
            for index in 0..<16 * words.count {
                target[index] = digit(
                    UInt8(truncatingIfNeeded: words[index / 16] >> UInt64(60 - 4 * (index % 16))) & 15
                )
            }
            return 16 * words.count
        }
    }

    /// Reads lowercase digits, the only ones in trace ids, and dashes from the beginning of a text.
    package struct Reader {
        private var rest: Substring.UTF8View

        package init(_ text: String.UTF8View) {
            rest = text[...]
        }

        package var isAtEnd: Bool { rest.isEmpty }

        /// Reads a number of exactly this many digits, at most 16. Returns nil and reads nothing if there are fewer.
        package mutating func number(digits: Int) -> UInt64? {
            var number: UInt64 = 0
            var rest = rest
            for _ in 0..<digits {
                switch rest.popFirst() {
                case let byte? where byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9"):
                    number = number << 4 | UInt64(byte - UInt8(ascii: "0"))
                case let byte? where byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "f"):
                    number = number << 4 | UInt64(byte - UInt8(ascii: "a") + 10)
                default:
                    return nil
                }
            }
            self.rest = rest
            return number
        }

        /// Reads one dash; returns false for any other character.
        package mutating func skipDash() -> Bool {
            guard rest.first == UInt8(ascii: "-") else { return false }
            rest.removeFirst()
            return true
        }
    }
}
