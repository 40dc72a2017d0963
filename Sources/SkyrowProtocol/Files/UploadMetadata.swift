import SkyrowJSON
package import SkyrowModel

/// What a client says of a file that it uploads in parts: keys, with values in base64.
///
/// ```swift
/// let metadata = try UploadMetadata("filename Y2F0LnBuZw==,filetype aW1hZ2UvcG5n")
/// metadata.filename      // cat.png
/// metadata.contentType   // image/png
/// ```
package struct UploadMetadata: Hashable, Sendable {
    /// Upper bound on the bytes of the field.
    package static let maximumBytes = 4096

    /// The field as the client sent it, which responses repeat.
    package let rawValue: String
    /// The name that the client gives the file; nil without one.
    package private(set) var filename: String?
    /// The media type that the client declares; nil without one.
    package private(set) var contentType: String?

    /// Parses a field `Upload-Metadata`; an empty one has no keys.
    ///
    /// Throws `108 InvalidArgument` for one that is too long or malformed, for a key that it has twice, and for a name or a type that
    /// is not UTF-8.
    package init(_ text: String) throws(SkyrowError) {
        guard text.utf8.count <= Self.maximumBytes else {
            throw .invalidArgument("Upload-Metadata has at most \(Self.maximumBytes) bytes.", Self.argument)
        }
        rawValue = text
        guard !Substring(text).trimmingSpaces.isEmpty else { return }
        var keys: Set<String> = []
        for pair in text.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
            let words = Substring(pair).trimmingSpaces.utf8.split(separator: UInt8(ascii: " "))
            guard let key = words.first.map({ String(Substring($0)) }), words.count <= 2, Self.isKey(key),
                keys.insert(key).inserted, let value = decodeBase64(words.count == 2 ? words[1] : Substring().utf8)
            else {
                throw .invalidArgument(
                    "Upload-Metadata is a list of different keys, each with a space and base64.",
                    Self.argument
                )
            }
            switch key {
            case "filename": filename = try Self.text(value)
            case "filetype": contentType = try Self.text(value)
            default: break
            }
        }
    }

    private static let argument = "upload-metadata"

    private static func isKey(_ key: String) -> Bool { key.utf8.allSatisfy { (0x21...0x7E).contains($0) } }

    private static func text(_ bytes: [UInt8]) throws(SkyrowError) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw .invalidArgument("The filename and filetype of Upload-Metadata are in UTF-8.", argument)
        }
        return text
    }
}
