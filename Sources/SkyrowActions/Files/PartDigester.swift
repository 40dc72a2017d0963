import SkyrowCrypto
import SkyrowProtocol
import Synchronization

/// Compares the bytes that one request adds to an upload with their checksum.
final class PartDigester: Sendable {
    private enum Hash {
        case sha1(SHA1)
        case sha256(SHA256)
        case md5(MD5)

        init(_ algorithm: TusChecksum.Algorithm) {
            switch algorithm {
            case .sha1: self = .sha1(SHA1())
            case .sha256: self = .sha256(SHA256())
            case .md5: self = .md5(MD5())
            }
        }

        mutating func update(_ bytes: [UInt8]) {
            switch self {
            case .sha1(var hash):
                hash.update(bytes)
                self = .sha1(hash)
            case .sha256(var hash):
                hash.update(bytes)
                self = .sha256(hash)
            case .md5(var hash):
                hash.update(bytes)
                self = .md5(hash)
            }
        }

        /// Of the bytes so far.
        var digest: [UInt8] {
            switch self {
            case .sha1(var hash): hash.finish()
            case .sha256(var hash): hash.finish().bytes
            case .md5(var hash): hash.finish()
            }
        }
    }

    private let expected: [UInt8]
    private let hash: Mutex<Hash>

    init(_ checksum: TusChecksum) {
        expected = checksum.digest
        hash = Mutex(Hash(checksum.algorithm))
    }

    func update(_ bytes: [UInt8]) {
        hash.withLock { $0.update(bytes) }
    }

    /// Whether the bytes so far have the checksum.
    var agrees: Bool { hash.withLock(\.digest) == expected }
}
