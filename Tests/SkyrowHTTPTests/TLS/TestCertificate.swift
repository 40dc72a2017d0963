import Foundation
import Logging
import NIOCore
import NIOSSL
import SkyrowHTTP

@testable import SkyrowTestSupport

/// A certificate of a test's own for localhost, in a directory that is there as long as this.
final class TestCertificate: Sendable {
    let directory: String
    var files: CertificateFiles {
        CertificateFiles(certificate: "\(directory)/certificate.pem", key: "\(directory)/key.pem")
    }

    init(name: String = "first") async throws {
        directory = NSTemporaryDirectory() + "skyrow-tls-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        try await make(name: name)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// Puts another certificate and key in place of those that are there.
    func make(name: String) async throws {
        // Made beside and moved into place, as tools that renew certificates do.
        try await Program.run(
            [
                "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                "-subj", "/CN=\(name)", "-addext", "subjectAltName=DNS:localhost,DNS:id.example.org", "-days", "2",
                "-keyout", "\(directory)/new-key.pem", "-out", "\(directory)/new-certificate.pem",
            ]
        )
        for file in ["key.pem", "certificate.pem"] {
            guard rename("\(directory)/new-\(file)", "\(directory)/\(file)") == 0 else { throw POSIXError(.EIO) }
        }
    }

    /// Has the certificate end yesterday.
    func expire() async throws {
        let expired = "\(directory)/expired.pem"
        let arguments = [
            "openssl", "x509", "-in", files.certificate, "-signkey", files.key, "-days", "-1", "-out", expired,
        ]
        try await Program.run(arguments)
        guard rename(expired, files.certificate) == 0 else { throw POSIXError(.EIO) }
    }

    /// Has the key need the passphrase `secret`.
    func lock() async throws {
        let locked = "\(directory)/locked.pem"
        let arguments = ["openssl", "pkey", "-in", files.key, "-aes128", "-passout", "pass:secret", "-out", locked]
        try await Program.run(arguments)
        guard rename(locked, files.key) == 0 else { throw POSIXError(.EIO) }
    }

    func overwrite(_ file: KeyPath<CertificateFiles, String>, with text: String) throws {
        try text.write(toFile: files[keyPath: file], atomically: true, encoding: .utf8)
    }

    func server(logger: Logger = .silent, interval: Duration = .seconds(3600)) throws -> ServerCertificate {
        try ServerCertificate(files, interval: interval, logger: logger)
    }

    /// A client that trusts nothing but the certificate that is in place now.
    func client(protocols: [String] = [], configure: (inout TLSConfiguration) -> Void = { _ in }) throws
        -> NIOSSLContext
    {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(files.certificate))
        configuration.applicationProtocols = protocols
        // On a busy machine the server's goodbye may take a while.
        configuration.shutdownTimeout = .minutes(1)
        configure(&configuration)
        return try NIOSSLContext(configuration: configuration)
    }
}
