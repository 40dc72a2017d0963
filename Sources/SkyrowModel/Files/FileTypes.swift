/// The media types that an application accepts, as its setting lists them.
///
/// ```swift
/// let types = FileTypes("image/*, application/pdf")
/// types?.admits("image/png")   // true
/// types?.admits("text/html")   // false
/// ```
package struct FileTypes: Hashable, Sendable, CustomStringConvertible {
    private enum Pattern: Hashable {
        case every
        /// Every type that begins with this name, such as `image`.
        case family(String)
        case one(MediaType)
    }

    private let patterns: [Pattern]
    /// The list in lowercase, with commas alone.
    package let description: String

    /// Accepts every type.
    package static let every = FileTypes(patterns: [.every], description: "*/*")

    /// Parses a list of types, `*/*` and ranges such as `image/*`; nil for an empty list, and if one of them is neither.
    package init?(_ text: String) {
        let words = text.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
            .map { Substring($0).trimmingSpaces.lowercased() }
        let patterns = words.compactMap(Self.pattern)
        guard patterns.count == words.count else { return nil }
        self.init(patterns: patterns, description: words.joined(separator: ","))
    }

    private init(patterns: [Pattern], description: String) {
        self.patterns = patterns
        self.description = description
    }

    /// Whether a file of the type is accepted; false for a text that is no type.
    package func admits(_ type: String) -> Bool {
        MediaType(type).map(admits) ?? false
    }

    package func admits(_ type: MediaType) -> Bool {
        patterns.contains { pattern in
            switch pattern {
            case .every: true
            case .family(let name): type.type == name
            case .one(let one): type.canonical == one
            }
        }
    }

    private static func pattern(_ word: String) -> Pattern? {
        if word == "*/*" { return .every }
        // A type with parameters would accept files of other parameters.
        guard !word.utf8.contains(UInt8(ascii: ";")) else { return nil }
        if word.hasSuffix("/*") {
            // The star becomes a name, so that the rest is parsed as that of a type.
            return MediaType(word.dropLast() + "x").map { .family(String($0.type)) }
        }
        return MediaType(word).map { .one($0.canonical) }
    }
}
