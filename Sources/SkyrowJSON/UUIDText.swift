/// A version 4 UUID, made of random bits (RFC 9562, 5.4), as text: `6ba7b810-9dad-41d1-80b4-00c04fd430c8`.
package struct UUIDText: Hashable, Sendable, CustomStringConvertible {
    @usableFromInline let high: UInt64
    @usableFromInline let low: UInt64

    /// Takes all but the six bits of version and variant from two numbers.
    package init(high: UInt64, low: UInt64) {
        self.high = high & ~0xF000 | 0x4000
        self.low = low & ~(0b11 << 62) | (0b10 << 62)
    }

    /// A UUID that cannot be guessed.
    package init() {
        var generator = SystemRandomNumberGenerator()
        self.init(high: generator.next(), low: generator.next())
    }

    /// Calls `body` with each of the 36 characters.
    @inlinable @inline(__always)
    package func forEachASCII(_ body: (UInt8) -> Void) {
        for index in 0..<32 {
            if index == 8 || index == 12 || index == 16 || index == 20 { body(UInt8(ascii: "-")) }
            let word = index < 16 ? high : low
            body(Hexadecimal.digit(UInt8(truncatingIfNeeded: word >> UInt64(60 - 4 * (index % 16))) & 15))
        }
    }

    package var description: String {
        String(unsafeUninitializedCapacity: 36) { target in
            var count = 0
            forEachASCII { byte in
                target[count] = byte
                count += 1
            }
            return count
        }
    }
}
