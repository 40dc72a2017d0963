/// The layout of a parsed text: one 64-bit word for a scalar, two for a container, in the order of the text.
///
/// A word has the kind in its top 4 bits, then 30 bits of length and 30 bits of start. The slice of a string excludes its quotes,
/// that of a container includes its brackets. The second word of a container has the index of the word after its last descendant
/// in the upper half, and the number of its elements or members in the lower.
enum JSONTape {
    /// Lengths and starts have 30 bits.
    static let maximumTextLength = 1 << 30 - 1

    @inline(__always)
    static func word(_ kind: JSONKind, start: Int, length: Int) -> UInt64 {
        UInt64(truncatingIfNeeded: kind.rawValue) << 60
            | UInt64(truncatingIfNeeded: length) << 30
            | UInt64(truncatingIfNeeded: start)
    }

    @inline(__always)
    static func kind(_ word: UInt64) -> JSONKind {
        // Only `word` above makes words, so the bits are always a kind.
        JSONKind(rawValue: UInt8(truncatingIfNeeded: word >> 60)) ?? .null
    }

    @inline(__always)
    static func start(_ word: UInt64) -> Int {
        Int(truncatingIfNeeded: word & (1 << 30 - 1))
    }

    @inline(__always)
    static func length(_ word: UInt64) -> Int {
        Int(truncatingIfNeeded: (word >> 30) & (1 << 30 - 1))
    }

    @inline(__always)
    static func link(_ index: Int, count: UInt64) -> UInt64 {
        UInt64(truncatingIfNeeded: index) << 32 | count
    }

    /// The upper half of a container's second word.
    @inline(__always)
    static func linked(_ word: UInt64) -> Int {
        Int(truncatingIfNeeded: word >> 32)
    }

    @inline(__always)
    static func count(_ word: UInt64) -> Int {
        Int(truncatingIfNeeded: word & 0xFFFF_FFFF)
    }
}

/// The kind of a JSON value, as the parser found it.
package enum JSONKind: UInt8, Hashable, Sendable {
    case null
    case `false`
    case `true`
    /// A number without fraction and exponent.
    case integer
    /// A number with a fraction, an exponent or both.
    case number
    /// A string whose bytes are its value.
    case string
    case escapedString
    case array
    case object
}
