import SkyrowJSON
package import SkyrowModel

/// The checksum of the bytes that one request adds to an upload.
///
/// ```swift
/// try TusChecksum("sha1 qvTGHdzF6KLavt4PO0gs2a6pQ00=").digest.count   // 20
/// ```
package struct TusChecksum: Hashable, Sendable {
    package enum Algorithm: String, CaseIterable, Sendable {
        case sha1, sha256, md5

        /// Of a digest.
        package var byteCount: Int {
            switch self {
            case .sha1: 20
            case .sha256: 32
            case .md5: 16
            }
        }
    }

    package let algorithm: Algorithm
    package let digest: [UInt8]

    /// Parses a field `Upload-Checksum`; throws `108 InvalidArgument` for another algorithm, and for a malformed digest.
    package init(_ text: String) throws(SkyrowError) {
        let words = text.utf8.split(separator: UInt8(ascii: " "))
        guard words.count == 2, let algorithm = Algorithm(rawValue: String(Substring(words[0])).lowercased()) else {
            throw .invalidArgument(
                "The checksum of a part is written as an algorithm (\(Self.algorithms)) and base64.",
                "upload-checksum"
            )
        }
        guard let digest = decodeBase64(words[1]), digest.count == algorithm.byteCount else {
            throw .invalidArgument("The checksum in this field is not valid.", "upload-checksum")
        }
        (self.algorithm, self.digest) = (algorithm, digest)
    }

    /// The names of the algorithms, as `Tus-Checksum-Algorithm` lists them.
    package static let algorithms = Algorithm.allCases.map(\.rawValue).joined(separator: ",")
}
