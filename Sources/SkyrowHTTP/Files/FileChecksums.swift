import NIOHTTP1
import SkyrowActions
import SkyrowJSON
import SkyrowModel

extension UploadChecks {
    /// Reads the checksums that a client sends with a file: `Content-MD5` (RFC 1864), `Digest` (RFC 3230), `Content-Digest` and
    /// `Repr-Digest` (RFC 9530).
    ///
    /// ```swift
    /// try UploadChecks(["digest": "sha-256=47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="]).sha256?.count   // 32
    /// ```
    ///
    /// Algorithms other than MD5 and SHA-256 are ignored. Throws `108 InvalidArgument` for a checksum that cannot be decoded, and
    /// for two that differ.
    init(_ headers: HTTPHeaders) throws(SkyrowError) {
        self.init()
        for (name, value) in headers {
            switch name.utf8.count {
            case 11 where name.isSameHeader(as: "content-md5"):
                try UploadChecks.set(&md5, UploadChecks.bytes(value[...].utf8, 16), in: name)
            case 6 where name.isSameHeader(as: "digest"):
                try readDigests(value, in: name) { $0 }
            case 14 where name.isSameHeader(as: "content-digest"), 11 where name.isSameHeader(as: "repr-digest"):
                // A byte sequence between colons, which parameters may follow (RFC 8941, 3.3.5).
                try readDigests(value, in: name) { value in
                    let parts = value.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
                    return parts.count == 3 && parts[0].isEmpty ? parts[1] : nil
                }
            default:
                continue
            }
        }
    }

    /// Reads a list such as `sha-256=…,md5=…`.
    ///
    /// - Parameter text: Returns the base64 text of a value; nil for a malformed one.
    private mutating func readDigests(
        _ list: String,
        in field: String,
        text: (Substring.UTF8View) -> Substring.UTF8View?
    ) throws(SkyrowError) {
        for member in list.utf8.split(separator: UInt8(ascii: ",")) {
            guard let equals = member.firstIndex(of: UInt8(ascii: "=")) else { throw .unreadableChecksum(field) }
            let algorithm = String(Substring(member[..<equals]).trimmingSpaces)
            let value = text(Substring(member[equals...].dropFirst()).trimmingSpaces.utf8)
            if algorithm.isSameHeader(as: "sha-256") {
                try UploadChecks.set(&sha256, value.flatMap { UploadChecks.bytes($0, 32) }, in: field)
            } else if algorithm.isSameHeader(as: "md5") {
                try UploadChecks.set(&md5, value.flatMap { UploadChecks.bytes($0, 16) }, in: field)
            }
        }
    }

    private static func bytes(_ text: Substring.UTF8View, _ count: Int) -> [UInt8]? {
        decodeBase64(text).flatMap { $0.count == count ? $0 : nil }
    }

    private static func set(_ checksum: inout [UInt8]?, _ value: [UInt8]?, in field: String) throws(SkyrowError) {
        guard let value, checksum == nil || checksum == value else { throw .unreadableChecksum(field) }
        checksum = value
    }
}

extension SkyrowError {
    fileprivate static func unreadableChecksum(_ field: String) -> SkyrowError {
        .invalidArgument("The checksum in this field is not valid.", field.lowercased())
    }
}
