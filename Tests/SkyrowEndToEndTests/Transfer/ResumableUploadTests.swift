import Foundation
import FoundationNetworking
import SkyrowTestSupport
import Testing

@testable import SkyrowSystem
@testable import skyrow

/// Uploads that go on after the service was killed.
@Suite(.timeLimit(.minutes(60))) struct ResumableUploadTests {
    private static let session = URLSession(configuration: .ephemeral)

    private static func send(
        _ method: String,
        _ path: String,
        to service: RunningService,
        _ headers: [String: String] = [:],
        _ body: Data? = nil
    ) async throws -> (Data, HTTPURLResponse) {
        var request = URLRequest(url: try #require(URL(string: path, relativeTo: service.address)))
        request.httpMethod = method
        request.setValue(try service.key("SKYROW_MASTER_KEY"), forHTTPHeaderField: "X-Skygear-API-Key")
        request.setValue("1.0.0", forHTTPHeaderField: "Tus-Resumable")
        for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
        request.httpBody = body
        let (data, response) = try await session.data(for: request)
        return (data, try #require(response as? HTTPURLResponse))
    }

    private static func add(
        _ part: Data,
        at offset: Int,
        to path: String,
        of service: RunningService
    ) async throws -> HTTPURLResponse {
        let headers = ["Content-Type": "application/offset+octet-stream", "Upload-Offset": "\(offset)"]
        return try await send("PATCH", path, to: service, headers, part).1
    }

    private static func offset(_ path: String, of service: RunningService) async throws -> Int {
        let (_, response) = try await send("HEAD", path, to: service)
        #expect(response.statusCode == 200)
        return try #require(response.value(forHTTPHeaderField: "Upload-Offset").flatMap { Int($0) })
    }

    @Test func anUploadGoesOnAfterTheServiceWasKilled() async throws {
        let folder = try TemporaryDirectory()
        let data = folder.path + "/data"
        var random = SeededGenerator.forTest()
        let content = Data((0..<4_000_000).map { _ in UInt8.random(in: .min ... .max, using: &random) })
        var service = try await RunningService.start(in: data)
        let metadata = ["Upload-Length": "\(content.count)", "Upload-Metadata": "filename YmlnLmJpbg=="]
        let (_, created) = try await Self.send("POST", "/files/tus", to: service, metadata)
        #expect(created.statusCode == 201)
        let path = try #require(created.value(forHTTPHeaderField: "Location"))

        var start = 0
        for _ in 0..<3 {
            let part = content[start..<(start + 700_000)]
            let response = try await Self.add(part, at: start, to: path, of: service)
            #expect(response.statusCode == 204)
            start += 700_000
            // Another part is on its way, of which nothing or everything is acknowledged.
            let rest = content[start..<(start + 600_000)]
            let running = Task { [service, start] in
                (try? await Self.add(rest, at: start, to: path, of: service))?.statusCode == 204
            }
            if Bool.random(using: &random) { await Task.yield() }
            service.process.send(signal: SIGKILL)
            _ = await service.process.ended()
            let isAcknowledged = await running.value
            service = try await RunningService.start(in: data)
            let offset = try await Self.offset(path, of: service)
            #expect(offset == start || offset == start + 600_000)
            if isAcknowledged { #expect(offset == start + 600_000) }
            start = offset
        }
        let last = try await Self.add(content[start...], at: start, to: path, of: service)
        #expect(last.statusCode == 204)
        let text = try #require(last.value(forHTTPHeaderField: "X-Skyrow-Asset"))
        let asset = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
        let name = try #require(asset?["$name"] as? String)
        let (bytes, got) = try await Self.send("GET", "/files/\(name)", to: service)
        #expect(got.statusCode == 200 && bytes == content)
        let digests = "SELECT size, state, octet_length(sha256) FROM app_internal._asset"
        #expect(try await service.psql(digests) == "4000000|stored|32")
        #expect(await service.terminate() == .exited(0))
    }
}
