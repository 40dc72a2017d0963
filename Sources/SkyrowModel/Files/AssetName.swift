/// The name of a file, which is also its key in the storage: a UUID, `-`, and the name that its uploader gave it, as far as an
/// address can have it.
///
/// ```swift
/// let name = AssetName(id: "7b0e2a7c-7135-4912-a6c9-7c1dbec0f5ef", filename: "Kätzchen 1.png")
/// name.rawValue                              // 7b0e2a7c-7135-4912-a6c9-7c1dbec0f5ef-K_tzchen_1.png
/// ```
///
/// A name contains only ASCII letters, digits, `.`, `_` and `-`, so it needs no escapes in a path, an address or a header field.
public struct AssetName: Hashable, Sendable, CustomStringConvertible {
    /// Upper bound on the bytes of a name: those of a UUID, `-`, 100 and an extension.
    package static let maximumBytes = idLength + 1 + maximumStem + maximumExtension
    private static let idLength = 36
    private static let maximumStem = 100
    private static let maximumExtension = 16

    public let rawValue: String

    /// Parses a name; nil for any other text, such as a path.
    public init?(_ text: some StringProtocol) {
        // The check of a string is specialized.
        let text = String(text)
        guard Self.isName(text.utf8) else { return nil }
        rawValue = text
    }

    /// Whether a text in UTF-8 is a name.
    package static func isName(_ bytes: some Collection<UInt8>) -> Bool {
        let count = bytes.count
        guard count > idLength + 1, count <= maximumBytes else { return false }
        return zip(0..., bytes).allSatisfy { place, byte in
            switch place {
            case 8, 13, 18, 23, idLength: byte == UInt8(ascii: "-")
            case ..<idLength: (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte)
            default: isPlain(byte)
            }
        }
    }

    /// Whether a text in UTF-8 is a UUID in lowercase, as names begin with.
    package static func isID(_ bytes: some Collection<UInt8>) -> Bool {
        bytes.count == idLength && isName(Array(bytes) + [UInt8(ascii: "-"), UInt8(ascii: "_")])
    }

    /// Makes the name of a file.
    ///
    /// - Parameters:
    ///   - id: a UUID in lowercase.
    ///   - filename: the name that the file has for its uploader, of which a path keeps only the last part.
    package init(id: String, filename: String) {
        let parts = filename.utf8.split { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
        var plain: [UInt8] = []
        // One `_` for all bytes of a character, and for neighbouring ones.
        var isReplacing = false
        for byte in parts.last ?? Substring().utf8 {
            let isPlain = Self.isPlain(byte)
            if isPlain || !isReplacing { plain.append(isPlain ? byte : UInt8(ascii: "_")) }
            isReplacing = !isPlain
        }
        let dot = plain.lastIndex(of: UInt8(ascii: ".")) ?? plain.endIndex
        let isExtension = (2...Self.maximumExtension).contains(plain.endIndex - dot)
        let stem = plain[..<(isExtension ? dot : plain.endIndex)].prefix(Self.maximumStem)
        let ending = isExtension ? plain[dot...] : []
        let text = Array(stem) + Array(ending)
        rawValue = id + "-" + (text.isEmpty ? "_" : String(decoding: text, as: UTF8.self))
    }

    /// The UUID, which no other file ever has.
    package var id: Substring { rawValue.prefix(Self.idLength) }

    /// The strong entity tag of the file, as the field `ETag` has it: the UUID in quotes, since a file is written once.
    package var tag: String { "\"\(id)\"" }

    /// What follows the UUID, such as `cat.png`.
    package var filename: Substring { rawValue.dropFirst(Self.idLength + 1) }

    public var description: String { rawValue }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"): true
        default: false
        }
    }
}
