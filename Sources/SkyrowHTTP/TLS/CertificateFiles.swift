import Glibc
import NIOCore
import NIOHTTP2
import NIOSSL

/// The files of a server's certificate and its key, both as PEM.
package struct CertificateFiles: Hashable, Sendable {
    /// The server's certificate first, followed by the chain to one that clients trust.
    package var certificate: String
    package var key: String

    package init(certificate: String, key: String) {
        self.certificate = certificate
        self.key = key
    }

    /// Identifies a state of the two files without reading them.
    struct Stamp: Hashable {
        fileprivate var files: [[Int]]
    }

    /// The stamp of the files; nil when one is missing.
    func stamp() -> Stamp? {
        var files: [[Int]] = []
        for path in [certificate, key] {
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            files.append([
                Int(status.st_dev), Int(truncatingIfNeeded: status.st_ino), Int(status.st_size), status.st_mtim.tv_sec,
                status.st_mtim.tv_nsec,
            ])
        }
        return Stamp(files: files)
    }

    /// Loads the TLS context, and the end of the certificate in seconds since 1970.
    func load() throws(CertificateError) -> (context: NIOSSLContext, end: Int) {
        let chain = try certificates()
        guard let own = chain.first else { throw .noCertificate(certificate) }
        let key = try privateKey()
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) },
            privateKey: .privateKey(key)
        )
        configuration.minimumTLSVersion = .tlsv12
        configuration.cipherSuiteValues = CertificateFiles.ciphers
        configuration.applicationProtocols = NIOHTTP2SupportedALPNProtocols
        // A client that never sends a close notification keeps its connection this much longer.
        configuration.shutdownTimeout = .seconds(2)
        do {
            return (try NIOSSLContext(configuration: configuration), own.notValidAfter)
        } catch {
            throw .otherKey(key: self.key, certificate: certificate)
        }
    }

    private func certificates() throws(CertificateError) -> [NIOSSLCertificate] {
        let bytes = try contents(of: certificate)
        do {
            return try NIOSSLCertificate.fromPEMBytes(bytes)
        } catch {
            throw .noCertificate(certificate)
        }
    }

    private func privateKey() throws(CertificateError) -> NIOSSLPrivateKey {
        let bytes = try contents(of: key)
        do {
            // Without a passphrase the library would prompt for one on the terminal.
            return try NIOSSLPrivateKey(bytes: bytes, format: .pem) { (setPassphrase: ([UInt8]) -> Void) in
                setPassphrase([])
            }
        } catch {
            throw .noKey(key)
        }
    }

    private func contents(of path: String) throws(CertificateError) -> [UInt8] {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw .unreadable(path, errno: errno) }
        defer { close(file) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16 * 1024)
        while true {
            let count = read(file, &chunk, chunk.count)
            guard count >= 0 else { throw .unreadable(path, errno: errno) }
            // A chain has a few kilobytes; a device would never end.
            guard count > 0, bytes.count < 1 << 20 else { return bytes }
            bytes += chunk[..<count]
        }
    }

    /// Suites with forward secrecy and authenticated encryption, which HTTP/2
    /// requires too (RFC 9113, 9.2.2). TLS 1.3 has no others.
    private static let ciphers: [NIOTLSCipher] = [
        .TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, .TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        .TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, .TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
        .TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, .TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
    ]
}

/// Why a certificate cannot be used.
package enum CertificateError: Error, Hashable, CustomStringConvertible {
    case unreadable(String, errno: CInt)
    case noCertificate(String)
    case noKey(String)
    case otherKey(key: String, certificate: String)

    package var description: String {
        switch self {
        case .unreadable(let path, let errno):
            "\(path) cannot be read: \(String(cString: strerror(errno)))."
        case .noCertificate(let path):
            "\(path) is not a PEM certificate; it should begin with '-----BEGIN CERTIFICATE-----'."
        case .noKey(let path):
            "\(path) is not a PEM private key, or it has a passphrase; use a key without one."
        case .otherKey(let key, let certificate):
            "The private key in \(key) does not match the certificate in \(certificate)."
        }
    }
}
