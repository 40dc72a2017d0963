/// An element of an XML document, as far as the responses of S3 need it: without attributes and namespaces.
///
/// ```swift
/// S3XML("<Error><Code>NoSuchKey</Code></Error>".utf8)?["Code"]  // NoSuchKey
/// ```
struct S3XML: Hashable, Sendable {
    let name: String
    /// The text between the tags of an element without children.
    private(set) var text = ""
    private(set) var children: [S3XML] = []

    /// Upper bound on the bytes of a document: a list of 1000 keys has less than half of it.
    static let maximumBytes = 2 << 20
    private static let maximumDepth = 8

    private init(name: String) {
        self.name = name
    }

    /// nil for a text that is not such a document; it must have no document type.
    init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count <= Self.maximumBytes else { return nil }
        var reader = Reader(rest: Array(bytes)[...])
        guard let root = reader.document(maximumDepth: Self.maximumDepth) else { return nil }
        self = root
    }

    /// The text of the first child of a name; nil without one.
    subscript(name: String) -> String? { children.first { $0.name == name }?.text }

    /// The children of a name.
    func all(_ name: String) -> [S3XML] { children.filter { $0.name == name } }

    private struct Reader {
        var rest: ArraySlice<UInt8>

        mutating func document(maximumDepth: Int) -> S3XML? {
            guard skipToTag(), let root = element(maximumDepth: maximumDepth) else { return nil }
            // Only spaces and comments may follow.
            return skipToTag() || !rest.isEmpty ? nil : root
        }

        /// Skips spaces, the declaration and comments; returns whether a tag follows.
        private mutating func skipToTag() -> Bool {
            while true {
                rest = rest.drop { Self.isSpace($0) }
                if skip("<?") {
                    guard skip(behind: "?>") else { return false }
                } else if skip("<!--") {
                    guard skip(behind: "-->") else { return false }
                } else {
                    return rest.first == UInt8(ascii: "<")
                }
            }
        }

        private mutating func element(maximumDepth: Int) -> S3XML? {
            guard maximumDepth > 0, skip("<"), let tag = tag() else { return nil }
            var element = S3XML(name: Self.local(tag.name))
            guard !tag.isEmpty else { return element }
            while true {
                let text = rest.prefix { $0 != UInt8(ascii: "<") }
                rest = rest.dropFirst(text.count)
                if skip("<!--") {
                    guard skip(behind: "-->") else { return nil }
                } else if skip("</") {
                    guard let end = self.tag(), end.name == tag.name else { return nil }
                    guard element.children.isEmpty else { return element }
                    guard let decoded = Self.decoded(text) else { return nil }
                    element.text = decoded
                    return element
                } else {
                    guard let child = self.element(maximumDepth: maximumDepth - 1) else { return nil }
                    element.children.append(child)
                }
            }
        }

        /// Reads the rest of a tag behind its first character, without its attributes.
        private mutating func tag() -> (name: String, isEmpty: Bool)? {
            let name = rest.prefix { !Self.isSpace($0) && !">/\"'<&".utf8.contains($0) }
            guard !name.isEmpty, name.first != UInt8(ascii: "!") else { return nil }
            rest = rest.dropFirst(name.count)
            var quote: UInt8?
            var last: UInt8?
            while let byte = rest.popFirst() {
                if let open = quote {
                    if byte == open { quote = nil }
                } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
                    quote = byte
                } else if byte == UInt8(ascii: ">") {
                    return (String(decoding: name, as: UTF8.self), last == UInt8(ascii: "/"))
                }
                last = byte
            }
            return nil
        }

        private mutating func skip(_ text: StaticString) -> Bool {
            let isNext = text.withUTF8Buffer { rest.starts(with: $0) }
            if isNext { rest = rest.dropFirst(text.utf8CodeUnitCount) }
            return isNext
        }

        private mutating func skip(behind text: StaticString) -> Bool {
            while !rest.isEmpty {
                if skip(text) { return true }
                rest = rest.dropFirst()
            }
            return false
        }

        private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0d).contains(byte) }

        /// The name without the prefix of a namespace.
        private static func local(_ name: String) -> String {
            name.lastIndex(of: ":").map { String(name[name.index(after: $0)...]) } ?? name
        }

        /// Decodes references to characters; nil for another entity.
        private static func decoded(_ text: ArraySlice<UInt8>) -> String? {
            var decoded: [UInt8] = []
            var rest = text
            while let byte = rest.popFirst() {
                guard byte == UInt8(ascii: "&") else {
                    decoded.append(byte)
                    continue
                }
                let name = rest.prefix(8).prefix { $0 != UInt8(ascii: ";") }
                rest = rest.dropFirst(name.count)
                guard rest.popFirst() == UInt8(ascii: ";"),
                    let scalar = scalar(String(decoding: name, as: UTF8.self))
                else { return nil }
                decoded += Array(String(Character(scalar)).utf8)
            }
            return String(decoding: decoded, as: UTF8.self)
        }

        private static func scalar(_ name: String) -> Unicode.Scalar? {
            switch name {
            case "amp": "&"
            case "lt": "<"
            case "gt": ">"
            case "quot": "\""
            case "apos": "'"
            case _ where name.hasPrefix("#x"): UInt32(name.dropFirst(2), radix: 16).flatMap { Unicode.Scalar($0) }
            case _ where name.hasPrefix("#"): UInt32(name.dropFirst()).flatMap { Unicode.Scalar($0) }
            default: nil
            }
        }
    }
}
