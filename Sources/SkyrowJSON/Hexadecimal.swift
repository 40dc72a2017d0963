/// Bytes and numbers as hexadecimal digits: written in lowercase, read in either case.
package enum Hexadecimal {
    /// The digit of a number below 16.
    @inlinable @inline(__always)
    package static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") &+ value : UInt8(ascii: "a") &- 10 &+ value
    }

    /// The number that a digit stands for; nil for any other byte.
    @inlinable @inline(__always)
    package static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// Two digits a byte.
    package static func text(_ bytes: some Sequence<UInt8>) -> String {
        var digits: [UInt8] = []
        digits.reserveCapacity(2 * bytes.underestimatedCount)
        for byte in bytes {
            digits.append(digit(byte >> 4))
            digits.append(digit(byte & 15))
        }
        return String(decoding: digits, as: UTF8.self)
    }

    /// The bytes that an even number of digits stands for; nil for anything else.
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

    /// 16 digits a word.
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

    /// Takes lowercase digits, the only ones that trace identities have, and dashes off a text from its beginning.
    package struct Reader {
        private var rest: Substring.UTF8View

        package init(_ text: String.UTF8View) {
            rest = text[...]
        }

        package var isAtEnd: Bool { rest.isEmpty }

        /// The number of exactly that many digits, at most 16; nil, and nothing is taken, when there are fewer.
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

        /// Takes one dash; false when there is none.
        package mutating func skipDash() -> Bool {
            guard rest.first == UInt8(ascii: "-") else { return false }
            rest.removeFirst()
            return true
        }
    }
}
