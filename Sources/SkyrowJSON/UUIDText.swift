/// A version 4 UUID of random bits (RFC 9562, 5.4) as text: `6ba7b810-9dad-41d1-80b4-00c04fd430c8`.
package struct UUIDText: Hashable, Sendable, CustomStringConvertible {
    private let high: UInt64
    private let low: UInt64

    /// Creates a UUID from two numbers, except for the six bits of version and variant.
    package init(high: UInt64, low: UInt64) {
        self.high = high & ~0xF000 | 0x4000
        self.low = low & ~(0b11 << 62) | (0b10 << 62)
    }

    /// Creates a UUID that cannot be guessed.
    package init() {
        var generator = SystemRandomNumberGenerator()
        self.init(high: generator.next(), low: generator.next())
    }

    package var description: String {
        String(unsafeUninitializedCapacity: 36) { target in
            var end = 0
            func append(_ character: UInt8) {
                target[end] = character
                end += 1
            }
            for index in 0..<16 {
                if index == 4 || index == 6 || index == 8 || index == 10 { append(UInt8(ascii: "-")) }
                let byte = UInt8(truncatingIfNeeded: (index < 8 ? high : low) >> UInt64(56 - 8 * (index % 8)))
                append(Hexadecimal.digit(byte >> 4))
                append(Hexadecimal.digit(byte & 15))
            }
            return end
        }
    }
}
