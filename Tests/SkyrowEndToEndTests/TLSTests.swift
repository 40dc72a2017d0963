import Foundation
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// HTTPS and HTTP/2 of the built service, asked by curl.
@Suite struct TLSTests {
    /// A certificate for this machine's own address, and its key, in a directory.
    private func makeCertificate(named name: String, in directory: String) async throws {
        let made = try await Tool.run(words: [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-subj", "/CN=\(name)", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2",
            "-keyout", "\(directory)/new-key.pem", "-out", "\(directory)/new-cert.pem",
        ])
        try #require(made.status == .exited(0), "\(made.errors)")
        for file in ["key.pem", "cert.pem"] {
            try #require(rename("\(directory)/new-\(file)", "\(directory)/\(file)") == 0)
        }
    }

    private func withService(_ body: (RunningService, _ directory: String) async throws -> Void) async throws {
        let folder = try TemporaryDirectory()
        let directory = folder.path
        try await makeCertificate(named: "first", in: directory)
        let service = try await RunningService.start(
            in: directory + "/data",
            arguments: [
                "--development", "--tls-certificate", "\(directory)/cert.pem", "--tls-key", "\(directory)/key.pem",
                "--hsts-max-age", "1d",
            ]
        )
        do {
            try await body(service, directory)
        } catch {
            _ = await service.terminate()
            throw error
        }
        #expect(await service.terminate() == .exited(0))
    }

    /// The answer's body, then its HTTP version and status.
    private func curl(_ service: RunningService, _ path: String, _ arguments: String...) async throws -> Tool.Result {
        let certificate = (service.directory as NSString).deletingLastPathComponent + "/cert.pem"
        return try await Tool.run(
            words: [
                "curl", "--silent", "--show-error", "--cacert", certificate, "--write-out",
                "\n%{http_version} %{http_code}",
                service.address.appendingPathComponent(path).absoluteString,
            ] + arguments
        )
    }

    @Test func curlSpeaksBothVersionsToBothEndpoints() async throws {
        try await withService { service, _ in
            #expect(service.address.scheme == "https")
            let key = try "X-Skygear-API-Key: \(service.key("SKYROW_MASTER_KEY"))"
            let save =
                #"{"jsonrpc":"2.0","id":1,"method":"record:save","params":{"records":[{"_id":"note/1","content":"Hello"}]}}"#
            for (option, version) in [("--http2", "2"), ("--http1.1", "1.1")] {
                let saved = try await curl(service, "rpc", option, "-H", key, "-d", save)
                #expect(saved.errors == "")
                #expect(saved.output.contains(#""_id":"note/1""#))
                #expect(saved.output.hasSuffix("\n\(version) 200"))
                let fetched = try await curl(service, "record/fetch", option, "-H", key, "-d", #"{"ids":["note/1"]}"#)
                #expect(fetched.output.contains(#""content":"Hello""#))
                #expect(fetched.output.hasSuffix("\n\(version) 200"))
                let health = try await curl(service, "healthz", option, "--head")
                #expect(health.output.lowercased().contains("strict-transport-security: max-age=86400"))
            }
        }
    }

    @Test func aHangUpShowsTheNewCertificate() async throws {
        try await withService { service, directory in
            try await makeCertificate(named: "second", in: directory)
            #expect(try await curl(service, "healthz").status == .exited(60))
            service.process.send(signal: SIGHUP)
            try await waiting(until: "the new certificate is shown") {
                try await curl(service, "healthz").status == .exited(0)
            }
            // A broken one leaves it in use.
            try "no certificate".write(toFile: "\(directory)/broken.pem", atomically: true, encoding: .utf8)
            let good = try String(contentsOfFile: "\(directory)/cert.pem", encoding: .utf8)
            try #require(rename("\(directory)/broken.pem", "\(directory)/cert.pem") == 0)
            service.process.send(signal: SIGHUP)
            let line = try await service.complaints.line("a refused certificate") {
                $0.contains("the previous one stays in use")
            }
            #expect(line.contains("cert.pem is not a PEM certificate"))
            try good.write(toFile: "\(directory)/cert.pem", atomically: true, encoding: .utf8)
            #expect(try await curl(service, "healthz").status == .exited(0))
        }
    }

    @Test func aWrongFileStopsTheStartWithOneSentence() async throws {
        let folder = try TemporaryDirectory()
        try await makeCertificate(named: "first", in: folder.path)
        let rows = [
            (
                ["--tls-certificate", "/nowhere.pem", "--tls-key", "\(folder.path)/key.pem"],
                "/nowhere.pem cannot be read"
            ),
            (
                ["--tls-certificate", "\(folder.path)/cert.pem", "--tls-key", "\(folder.path)/cert.pem"],
                "not a PEM private key"
            ),
            (["--tls-key", "\(folder.path)/key.pem"], "must be set together"),
        ]
        for (arguments, sentence) in rows {
            let result = try await Tool.run(
                words: [Tool.path, "serve", "--data-directory", folder.path + "/data", "--port", "0"] + arguments
            )
            #expect(result.status != .exited(0))
            #expect(result.errors.contains(sentence), "\(result.errors)")
            #expect(result.errors.split(separator: "\n").count == 1)
            #expect(!result.output.contains("Skyrow serves"))
        }
    }
}
