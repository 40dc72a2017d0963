/// What ties a response, its log line and an unexpected error together.
package struct RequestID: Hashable, Sendable, CustomStringConvertible {
    private enum Form: Hashable {
        case made(UInt64, UInt64)
        case given(String)
    }

    private let form: Form

    /// Takes over a client's `X-Request-Id`: 1 to 128 ASCII letters, digits and `-_.:+/=`; nil for anything else, which
    /// could forge a log line.
    package init?(given text: String) {
        guard (1...128).contains(text.utf8.count), text.utf8.allSatisfy(RequestID.isPlain) else { return nil }
        form = .given(text)
    }

    fileprivate init(_ high: UInt64, _ low: UInt64) {
        form = .made(high, low)
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default:
            "-_.:+/=".utf8.contains(byte)
        }
    }

    package var description: String {
        switch form {
        case .given(let text):
            return text
        case .made:
            return String(unsafeUninitializedCapacity: 36) { target in
                var count = 0
                appendASCII { byte in
                    target[count] = byte
                    count += 1
                }
                return count
            }
        }
    }

    /// Calls `append` with every byte of the id, none of which JSON escapes; a made one has the shape of a UUID.
    package func appendASCII(_ append: (UInt8) -> Void) {
        switch form {
        case .given(let text):
            text.utf8.forEach(append)
        case .made(let high, let low):
            for index in 0..<32 {
                if index == 8 || index == 12 || index == 16 || index == 20 { append(UInt8(ascii: "-")) }
                let word = index < 16 ? high : low
                let digit = UInt8(truncatingIfNeeded: word >> UInt64(60 - 4 * (index % 16))) & 15
                append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") - 10 + digit)
            }
        }
    }
}

/// Makes request ids that do not repeat: SplitMix64 from a random start, which walks through all 2^64 states.
///
/// They name requests and guard nothing, so a call into the system for each would be wasted.
package struct RequestIDGenerator: Sendable {
    private var state: UInt64
    private let salt: UInt64

    package init() {
        var system = SystemRandomNumberGenerator()
        state = system.next()
        salt = system.next()
    }

    package mutating func next() -> RequestID {
        state &+= 0x9E37_79B9_7F4A_7C15
        let high = RequestIDGenerator.mix(state)
        let low = RequestIDGenerator.mix(state ^ salt)
        // The version and variant bits of a UUID made from random numbers (RFC 9562, 5.4).
        return RequestID(high & ~0xF000 | 0x4000, low & ~(0b11 << 62) | (0b10 << 62))
    }

    private static func mix(_ state: UInt64) -> UInt64 {
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
