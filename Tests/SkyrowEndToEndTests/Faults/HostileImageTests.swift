import Foundation
import FoundationNetworking
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowServer
@testable import SkyrowSystem

/// Thumbnails of a service, also of files that are meant to harm it.
@Suite struct HostileImageTests {
    private struct Response {
        let status: Int
        let body: [UInt8]
        private let response: HTTPURLResponse

        init(_ response: HTTPURLResponse, _ body: Data) {
            self.response = response
            self.body = [UInt8](body)
            status = response.statusCode
        }

        subscript(field: String) -> String? { response.value(forHTTPHeaderField: field) }
    }

    private static let session = URLSession(configuration: .ephemeral)

    private static func send(
        _ method: String,
        _ path: String,
        to service: RunningService,
        body: [UInt8]? = nil,
        headers: [String: String] = [:]
    ) async throws -> Response {
        var request = URLRequest(url: try #require(URL(string: path, relativeTo: service.address)))
        request.httpMethod = method
        request.timeoutInterval = TimeInterval(patience.components.seconds)
        request.cachePolicy = .reloadIgnoringLocalCacheData
        if !path.contains("signature=") {
            request.setValue(try service.key("SKYROW_MASTER_KEY"), forHTTPHeaderField: "X-Skygear-API-Key")
        }
        for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
        request.httpBody = body.map { Data($0) }
        let (data, response) = try await session.data(for: request)
        return Response(try #require(response as? HTTPURLResponse), data)
    }

    /// Uploads a file; returns the result.
    private static func upload(_ bytes: [UInt8], _ type: String, to service: RunningService) async throws -> [String:
        Any]
    {
        let headers = ["Content-Type": type]
        let response = try await send("POST", "/files?filename=a", to: service, body: bytes, headers: headers)
        let text = String(decoding: response.body, as: UTF8.self)
        #expect(response.status == 201, "\(text)")
        let document = try JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any]
        return try #require(document?["result"] as? [String: Any], "\(text)")
    }

    @Test func aThumbnailIsSentAsItsFileIs() async throws {
        try #require(VipsThumbnails().isInstalled, "vipsthumbnail is missing: run scripts/setup test.")
        try await withService { service in
            let result = try await Self.upload(
                TestImage.jpegImage(with: TestImage.exif(orientation: 6)),
                "image/jpeg",
                to: service
            )
            #expect(result["$width"] as? Int == 200 && result["$height"] as? Int == 300)
            let name = try #require((result["$name"] as? String).flatMap { AssetName($0) })
            let path = "/files/\(name)?thumb=100x100"
            let whole = try await Self.send("GET", path, to: service)
            #expect(whole.status == 200)
            #expect(ImageHeader(whole.body)?.size == PixelSize(width: 100, height: 100))
            let tag = "\"\(name.id)-100x100\""
            #expect(whole["ETag"] == tag && whole["Content-Type"] == "image/jpeg")
            #expect(whole["Content-Disposition"]?.hasPrefix("inline; ") == true)
            #expect(whole["X-Content-Type-Options"] == "nosniff" && whole["Cache-Control"] == "private, max-age=0")
            // By the signature of the file alone.
            let url = try #require((result["$url"] as? String).flatMap { URL(string: $0) })
            let signed = "/files/\(name)?\(try #require(url.query))&thumb=100x100"
            let rows:
                [(method: String, path: String, headers: [String: String], status: Int, bytes: ArraySlice<UInt8>)] = [
                    ("GET", path, [:], 200, whole.body[...]),
                    ("HEAD", path, [:], 200, []),
                    ("GET", path, ["Range": "bytes=0-9"], 206, whole.body[..<10]),
                    ("GET", path, ["Range": "bytes=0-9", "If-Range": "\"\(name.id)\""], 200, whole.body[...]),
                    ("GET", path, ["If-None-Match": tag], 304, []),
                    ("GET", path, ["If-None-Match": "\"\(name.id)\""], 200, whole.body[...]),
                    ("GET", signed, [:], 200, whole.body[...]),
                ]
            for row in rows {
                let response = try await Self.send(row.method, row.path, to: service, headers: row.headers)
                #expect(response.status == row.status, "\(row.method) \(row.path) \(row.headers)")
                #expect(response.body[...] == row.bytes, "\(row.method) \(row.path) \(row.headers)")
            }
            for (query, status) in [
                ("thumb=400x400f", 200), ("thumb=100x101", 400), ("thumb=x", 400), ("thumb=", 400),
                ("thumb=..%2f100x100", 400),
            ] {
                let response = try await Self.send("GET", "/files/\(name)?\(query)", to: service)
                #expect(response.status == status, "\(query)")
            }
            let hidden = ["X-Skygear-API-Key": try service.key("SKYROW_API_KEY")]
            for query in ["thumb=100x100", "thumb=100x101"] {
                let response = try await Self.send("GET", "/files/\(name)?\(query)", to: service, headers: hidden)
                #expect(response.status == 404, "\(query)")
            }
            let directory = "\(service.directory)/files/app/thumbs/\(name.rawValue.prefix(2))/\(name)"
            #expect(contentsOfDirectory(directory)?.sorted() == ["100x100", "400x400f"])
            let verified = try await Tool.run("files", "verify", "--data-directory", service.directory)
            #expect(verified.status == .exited(0), "\(verified)")
            _ = try await service.call("file:delete", #"{"names":["\#(name)"]}"#)
            #expect(contentsOfDirectory(directory) == nil)
        }
    }

    @Test func hostileImagesAreRefusedOrMadeSmall() async throws {
        try #require(VipsThumbnails().isInstalled, "vipsthumbnail is missing: run scripts/setup test.")
        #expect(HostileImage.all.count >= 50)
        try await withService { service in
            var made = 0
            for image in HostileImage.all {
                let what = "\(image.type): \(image.name)"
                let result = try await Self.upload(image.bytes, image.type, to: service)
                let name = try #require(result["$name"] as? String)
                let first = try await Self.send("GET", "/files/\(name)?thumb=100x100", to: service)
                let second = try await Self.send("GET", "/files/\(name)?thumb=100x100", to: service)
                switch first.status {
                case 200:
                    made += 1
                    let header = try #require(ImageHeader(first.body), "\(what)")
                    #expect(header.size.width <= 100 && header.size.height <= 100, "\(what)")
                    #expect(first["Content-Type"] == header.format.rawValue, "\(what)")
                    #expect(second.status == 200 && second.body == first.body, "\(what)")
                    let text = String(decoding: first.body, as: UTF8.self)
                    #expect(!text.contains("alert("), "\(what)")
                case 400, 503:
                    // It is not tried again.
                    #expect(second.status == 400, "\(what)")
                    #expect(first.status == 400 || first["Retry-After"] == "1", "\(what)")
                default:
                    Issue.record("\(what): \(first.status)")
                }
                // The file itself is no page, and none of its types runs.
                let file = try await Self.send("GET", "/files/\(name)", to: service)
                #expect(file.status == 200 && file.body == image.bytes, "\(what)")
                for response in [first, file] where response.status == 200 {
                    #expect(response["X-Content-Type-Options"] == "nosniff", "\(what)")
                    #expect(response["Content-Security-Policy"]?.hasSuffix("sandbox") == true, "\(what)")
                    guard response["Content-Disposition"]?.hasPrefix("inline") == true else { continue }
                    let type = try #require(response["Content-Type"])
                    #expect(SniffedType.of(response.body) == type, "\(what)")
                }
            }
            #expect(made >= 8)
            // The service is up, and no child is left.
            let process = service.process.processID
            try await waiting(until: "no child is left") { Self.thumbnailChildren(of: process) == 0 }
            #expect(service.process.exitIfEnded == nil)
            _ = try await service.saveNote("after-all")
        }
    }

    /// The number of a process's children that make thumbnails.
    private static func thumbnailChildren(of parent: pid_t) -> Int {
        let stats = (contentsOfDirectory("/proc") ?? []).filter { Int($0) != nil }.compactMap {
            contentsOfFile("/proc/\($0)/stat")
        }
        return stats.count { stat in
            // `1234 (vipsthumbnail) S 1200 …`, where the name may have spaces.
            guard let end = stat.lastIndex(of: ")"), stat.contains("(vipsthumbnail)") else { return false }
            return stat[end...].split(separator: " ").dropFirst(2).first == "\(parent)"
        }
    }
}
