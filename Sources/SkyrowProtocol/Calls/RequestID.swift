import SkyrowJSON

/// The id that connects a response, its log line and an unexpected error.
package struct RequestID: Hashable, Sendable, CustomStringConvertible {
    private enum Form: Hashable {
        case made(UUIDText)
        case given(String)
    }

    private let form: Form

    /// Takes over a client's `X-Request-Id` of 1 to 128 ASCII letters, digits and
    /// `-_.:+/=`; nil for any other, which could forge a log line.
    package init?(given text: String) {
        guard (1...128).contains(text.utf8.count), text.utf8.allSatisfy(RequestID.isPlain) else { return nil }
        form = .given(text)
    }

    fileprivate init(_ made: UUIDText) {
        form = .made(made)
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
        case .given(let text): return text
        case .made(let made): return made.description
        }
    }
}

/// Generates request ids that do not repeat: SplitMix64 from a random start, which passes through all 2^64 states.
///
/// The ids have no security purpose, so a system call for each would be wasteful.
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
        return RequestID(UUIDText(high: high, low: low))
    }

    private static func mix(_ state: UInt64) -> UInt64 {
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
