import Foundation
import SkyrowPostgres
import SkyrowTestSupport
import Testing

/// libpq's TLS options pass through.
@Suite struct TLSTests {
    /// A cluster that also listens on a free local port, with a certificate of its own.
    private func startCluster() async throws -> (cluster: TemporaryCluster, port: UInt16) {
        let cluster = try await TemporaryCluster.start()
        // psql runs a program as the server's user: COPY … TO PROGRAM.
        let certificate = "\(cluster.directory)/server"
        try await cluster.psql(
            """
            COPY (SELECT 1) TO PROGRAM 'openssl req -new -x509 -days 2 -nodes -subj /CN=localhost \
            -addext subjectAltName=IP:127.0.0.1 -out \(certificate).crt -keyout \(certificate).key 2>&1 \
            && chmod 600 \(certificate).key';
            """
        )
        let port = try freePort()
        for (name, value) in [
            ("ssl", "on"), ("ssl_cert_file", "\(certificate).crt"), ("ssl_key_file", "\(certificate).key"),
            ("listen_addresses", "127.0.0.1"), ("port", "\(port)"),
        ] {
            try await cluster.psql("ALTER SYSTEM SET \(name) = '\(value)'")
        }
        try await cluster.stop()
        try await cluster.launch()
        return (cluster, port)
    }

    private func freePort() throws -> UInt16 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, length) == 0 && getsockname(descriptor, address, &length) == 0
            }
        }
        try #require(status)
        return UInt16(bigEndian: address.sin_port)
    }

    @Test func theCertificateIsCheckedAsAskedFor() async throws {
        let (cluster, port) = try await startCluster()
        let url = "postgresql://postgres@127.0.0.1:\(port)/postgres"
        let trusted = "\(url)?sslmode=verify-full&sslrootcert=\(cluster.directory)/server.crt"
        try await withPostgresClient(trusted) { client in
            let result = try await client.read("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
            #expect(try result.decode(row: 0, column: 0, as: Bool.self))
            // More than one record of TLS, in both directions.
            let text = String(repeating: "x", count: 200_000)
            let long = try await client.write("SELECT \(text)", groupCommit: .allowed)
            #expect(try long.decode(row: 0, column: 0, as: String.self) == text)
        }
        let untrusted = "\(url)?sslmode=verify-full&sslrootcert=/etc/ssl/certs/ca-certificates.crt"
        func limit(_ configuration: inout PostgresConfiguration) {
            configuration.acquireTimeout = .milliseconds(200)
        }
        try await withPostgresClient(untrusted, configure: limit) { client in
            let error = try await #require(throws: PostgresError.self) { try await client.read("SELECT 1") }
            #expect(error.code == .cannotConnect)
        }
    }
}
