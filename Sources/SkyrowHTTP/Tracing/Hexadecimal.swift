/// Numbers in lowercase hexadecimal digits, the only form that trace identities have.
enum Hexadecimal {
    /// 16 digits a word.
    static func text(of words: [UInt64]) -> String {
        String(unsafeUninitializedCapacity: 16 * words.count) { target in
            for index in 0..<16 * words.count {
                let digit = UInt8(truncatingIfNeeded: words[index / 16] >> UInt64(60 - 4 * (index % 16))) & 15
                target[index] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") - 10 + digit
            }
            return 16 * words.count
        }
    }

    /// Takes digits and dashes off a text from its beginning.
    struct Reader {
        private var rest: Substring.UTF8View

        init(_ text: String.UTF8View) {
            rest = text[...]
        }

        var isAtEnd: Bool { rest.isEmpty }

        /// The number of exactly that many digits, at most 16; nil, and nothing is taken, when there are fewer.
        mutating func number(digits: Int) -> UInt64? {
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
        mutating func skipDash() -> Bool {
            guard rest.first == UInt8(ascii: "-") else { return false }
            rest.removeFirst()
            return true
        }
    }
}
