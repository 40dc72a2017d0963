import NIOCore
import NIOHTTP1
import SkyrowJSON
import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowActions
@testable import SkyrowHTTP

/// Resumable uploads by the requests of tus 1.0.0.
@Suite struct TusTests {
    private static let version = ("Tus-Resumable", "1.0.0")
    private static let type = ("Content-Type", "application/offset+octet-stream")
    private static let metadata = ("Upload-Metadata", "filename YS5naWY=,filetype aW1hZ2UvZ2lm")
    private static let gif = "GIF89a, and the rest of an image"

    private static func length(_ length: Int) -> (String, String) { ("Upload-Length", "\(length)") }
    private static func offset(_ offset: Int) -> (String, String) { ("Upload-Offset", "\(offset)") }

    /// Begins an upload, and returns its path.
    private static func create(
        _ service: TestService,
        length count: Int = gif.utf8.count,
        token: String
    ) async throws -> String {
        let headers = [version, length(count), metadata]
        let response = try await service.send("POST", "/files/tus", token: token, headers: headers)
        #expect(response.status == 201, "\(response.body)")
        return try #require(response["location"])
    }

    private static func add(
        _ part: String,
        at start: Int,
        to path: String,
        _ service: TestService,
        token: String?,
        _ others: [(String, String)] = []
    ) async throws -> RawResponse {
        let headers = [version, type, offset(start)] + others
        return try await service.send("PATCH", path, part, token: token, headers: headers)
    }

    private static func ask(_ path: String, _ service: TestService, token: String?) async throws -> RawResponse {
        try await service.send("HEAD", path, token: token, headers: [version])
    }

    private static func asset(_ response: RawResponse) throws -> TestUpload {
        try TestUpload(JSONValue(try #require(response["x-skyrow-asset"])))
    }

    // MARK: - The life of an upload

    @Test func aFileArrivesInParts() async throws {
        try await withFileService { service, _ in
            let ann = try await service.signUp("ann")
            let path = try await Self.create(service, token: ann.token)
            #expect(path.hasPrefix("/files/tus/"))
            let first = try await Self.add(String(Self.gif.prefix(10)), at: 0, to: path, service, token: ann.token)
            #expect(first.status == 204 && first["upload-offset"] == "10" && first["tus-resumable"] == "1.0.0")
            #expect(first["x-skyrow-asset"] == nil && first["content-length"] == nil)
            let asked = try await Self.ask(path, service, token: ann.token)
            #expect(asked.status == 200 && asked["upload-offset"] == "10")
            #expect(asked["upload-length"] == "32" && asked["cache-control"] == "no-store")
            #expect(asked["upload-metadata"] == Self.metadata.1 && asked["tus-resumable"] == "1.0.0")
            let seconds = HTTPDate.seconds(asked["upload-expires"] ?? "") ?? 0
            #expect(seconds > 0)
            let last = try await Self.add(String(Self.gif.dropFirst(10)), at: 10, to: path, service, token: ann.token)
            #expect(last.status == 204 && last["upload-offset"] == "32")
            let file = try Self.asset(last)
            #expect(file.contentType == "image/gif" && file.size == 32)
            #expect(try await service.send("GET", file.signed, key: nil).body == Self.gif)
            // The response may have been lost.
            let again = try await Self.ask(path, service, token: ann.token)
            #expect(again["upload-offset"] == "32")
            #expect(try Self.asset(again).name == file.name)
            let save = #"{"records":[{"_id":"note/1","picture":\#(file.value)}]}"#
            #expect(try await service.v1("/record/save", save, token: ann.token).status == 200)
        }
    }

    @Test func anUploadMayBeginWithItsFirstPart() async throws {
        try await withFileService { service, _ in
            let ann = try await service.signUp("ann")
            for count in [10, 32] {
                let response = try await service.send(
                    "POST",
                    "/files/tus",
                    String(Self.gif.prefix(count)),
                    token: ann.token,
                    headers: [Self.version, Self.type, Self.length(32), Self.metadata]
                )
                #expect(response.status == 201 && response["upload-offset"] == "\(count)")
                #expect(response["location"]?.hasPrefix("/files/tus/") == true)
                if count == 32 {
                    let file = try Self.asset(response)
                    #expect(try await service.send("GET", file.signed, key: nil).body == Self.gif)
                } else {
                    #expect(response["x-skyrow-asset"] == nil)
                }
            }
        }
    }

    @Test func anUploadIsRemoved() async throws {
        try await withFileService { service, _ in
            let ann = try await service.signUp("ann")
            let path = try await Self.create(service, token: ann.token)
            let removed = try await service.send("DELETE", path, token: ann.token, headers: [Self.version])
            #expect(removed.status == 204 && removed["tus-resumable"] == "1.0.0")
            for method in ["HEAD", "DELETE"] {
                let response = try await service.send(method, path, token: ann.token, headers: [Self.version])
                #expect(response.status == 404)
            }
        }
    }

    @Test func whatIsOfferedIsFoundOut() async throws {
        try await withFileService(maximum: 1000) { service, _ in
            let origin = [("Origin", "https://app.example"), ("Access-Control-Request-Method", "PATCH")]
            for path in ["/files/tus", "/files/tus/7b0e2a7c-7135-4912-a6c9-7c1dbec0f5ef"] {
                let response = try await service.send("OPTIONS", path, key: nil, headers: origin)
                #expect(response.status == 204)
                #expect(response["tus-version"] == "1.0.0" && response["tus-resumable"] == "1.0.0")
                #expect(response["tus-extension"] == "creation,creation-with-upload,expiration,checksum,termination")
                #expect(response["tus-max-size"] == "1000")
                #expect(response["tus-checksum-algorithm"] == "sha1,sha256,md5")
                let methods = response["access-control-allow-methods"] ?? ""
                for method in ["PATCH", "HEAD", "DELETE"] { #expect(methods.contains(method)) }
                let headers = response["access-control-allow-headers"] ?? ""
                for field in ["Tus-Resumable", "Upload-Length", "Upload-Metadata", "Upload-Offset", "Upload-Checksum"] {
                    #expect(headers.contains(field))
                }
            }
            #expect(try await service.send("OPTIONS", "/files", key: nil)["tus-version"] == nil)
            let ann = try await service.signUp("ann")
            let created = try await service.send(
                "POST",
                "/files/tus",
                token: ann.token,
                headers: [Self.version, Self.length(5), Self.metadata, origin[0]]
            )
            let exposed = created["access-control-expose-headers"] ?? ""
            for field in ["Location", "Upload-Offset", "Upload-Length", "Tus-Resumable", "X-Skyrow-Asset"] {
                #expect(exposed.contains(field))
            }
        }
        try await withService { service in
            let options = try await service.send("OPTIONS", "/files/tus")
            #expect(options["tus-version"] == nil)
            let created = try await service.send("POST", "/files/tus", headers: [Self.version])
            #expect(created.status == 404)
        }
    }

    /// A file of this name is what old clients of Skygear may send.
    @Test func aFileMayHaveTheNameOfThePath() async throws {
        try await withFileService { service, storage in
            let ann = try await service.signUp("ann")
            #expect(try await service.send("PUT", "/files/tus", "x", token: ann.token).status == 200)
            #expect(storage.names.count == 1)
            #expect(try await service.send("GET", "/files/tus", token: ann.token).status == 404)
        }
    }

    // MARK: - Refusals

    struct Row: Sendable, CustomTestStringConvertible {
        let label: String
        var method = "PATCH"
        /// nil: that of an upload of 32 bytes by ann, of which 10 have arrived.
        var path: String?
        var headers: [(String, String)] = []
        var body: String? = "1234567890"
        var key: String? = TestService.apiKey
        var isByAnn = true
        let status: Int
        let code: Int
        /// The offset of the upload afterwards; nil: it is gone.
        var after: Int? = 10

        var testDescription: String { label }
    }

    private static let unknown = "/files/tus/7b0e2a7c-7135-4912-a6c9-7c1dbec0f5ef"
    /// Of "hello".
    private static let checksum = ("Upload-Checksum", "sha1 qvTGHdzF6KLavt4PO0gs2a6pQ00=")

    private static let rows: [Row] = [
        Row(label: "another offset", headers: [version, type, offset(9)], status: 409, code: 130),
        Row(label: "no offset", headers: [version, type], status: 400, code: 108),
        Row(label: "no version", headers: [type, offset(10)], status: 412, code: 111),
        Row(
            label: "another type",
            headers: [version, ("Content-Type", "image/gif"), offset(10)],
            status: 415,
            code: 107
        ),
        Row(label: "another checksum", headers: [version, type, offset(10), checksum], status: 460, code: 108),
        Row(
            label: "an unknown algorithm",
            headers: [version, type, offset(10), ("Upload-Checksum", "crc32 AAAA")],
            status: 400,
            code: 108
        ),
        Row(
            label: "too much",
            headers: [version, type, offset(10)],
            body: String(repeating: "x", count: 23),
            status: 413,
            code: 129
        ),
        Row(label: "by another", headers: [version, type, offset(10)], isByAnn: false, status: 401, code: 101),
        Row(
            label: "by nothing",
            headers: [version, type, offset(10)],
            key: nil,
            isByAnn: false,
            status: 401,
            code: 101
        ),
        Row(
            label: "a wrong key",
            headers: [version, type, offset(10)],
            key: "wrong",
            isByAnn: false,
            status: 401,
            code: 103
        ),
        Row(label: "an unknown upload", path: unknown, headers: [version, type, offset(10)], status: 404, code: 110),
        Row(label: "no upload", path: "/files/tus/a", headers: [version, type, offset(10)], status: 404, code: 110),
        Row(
            label: "a part for no upload",
            path: "/files/tus",
            headers: [version, type, offset(0)],
            status: 405,
            code: 117
        ),
        Row(label: "a POST to an upload", method: "POST", headers: [version], body: nil, status: 405, code: 117),
        Row(
            label: "a method in a field",
            method: "POST",
            headers: [version, type, offset(10), ("X-HTTP-Method-Override", "PATCH")],
            status: 501,
            code: 111
        ),
        Row(
            label: "a deferred length",
            method: "POST",
            path: "/files/tus",
            headers: [version, ("Upload-Defer-Length", "1"), metadata],
            body: nil,
            status: 501,
            code: 111
        ),
        Row(
            label: "a part of several",
            method: "POST",
            path: "/files/tus",
            headers: [version, ("Upload-Concat", "partial"), length(5), metadata],
            body: nil,
            status: 501,
            code: 111
        ),
        Row(
            label: "too large",
            method: "POST",
            path: "/files/tus",
            headers: [version, length((1 << 20) + 1), metadata],
            body: nil,
            status: 413,
            code: 129
        ),
        Row(
            label: "empty",
            method: "POST",
            path: "/files/tus",
            headers: [version, length(0), metadata],
            body: nil,
            status: 400,
            code: 108
        ),
        Row(
            label: "without a name",
            method: "POST",
            path: "/files/tus",
            headers: [version, length(5)],
            body: nil,
            status: 400,
            code: 108
        ),
        Row(
            label: "a first part with another checksum",
            method: "POST",
            path: "/files/tus",
            headers: [version, type, length(32), metadata, checksum],
            status: 460,
            code: 108
        ),
        Row(
            label: "a first part of another type",
            method: "POST",
            path: "/files/tus",
            headers: [version, ("Content-Type", "image/gif"), length(32), metadata],
            status: 415,
            code: 107
        ),
        Row(
            label: "begun by a key alone",
            method: "POST",
            path: "/files/tus",
            headers: [version, length(32), metadata],
            body: nil,
            isByAnn: false,
            status: 401,
            code: 101
        ),
    ]

    @Test(arguments: rows) func aRefusalLeavesTheUploadAsItWas(_ row: Row) async throws {
        try await withFileService { service, storage in
            let ann = try await service.signUp("ann")
            let path = try await Self.create(service, token: ann.token)
            let first = String(Self.gif.prefix(10))
            #expect(try await Self.add(first, at: 0, to: path, service, token: ann.token).status == 204)
            let response = try await service.send(
                row.method,
                row.path ?? path,
                row.body,
                key: row.key,
                token: row.isByAnn ? ann.token : nil,
                headers: row.headers
            )
            #expect(response.status == row.status, "\(response.body)")
            #expect(try JSONValue(response.body)["error"]["code"].integer == row.code, "\(response.body)")
            #expect(response["tus-resumable"] == "1.0.0")
            if row.status == 412 { #expect(response["tus-version"] == "1.0.0") }
            if row.status == 405 { #expect(response["allow"] != nil) }
            let asked = try await Self.ask(path, service, token: ann.token)
            #expect(asked["upload-offset"] == row.after.map { "\($0)" })
            let rest = try await Self.add(String(Self.gif.dropFirst(10)), at: 10, to: path, service, token: ann.token)
            #expect(rest.status == 204)
            let file = try Self.asset(rest)
            #expect(storage.names == [file.name])
        }
    }

    @Test func anotherUserDoesNotFindTheUpload() async throws {
        try await withFileService { service, _ in
            let ann = try await service.signUp("ann")
            let bob = try await service.signUp("bob")
            let path = try await Self.create(service, token: ann.token)
            #expect(try await Self.ask(path, service, token: bob.token).status == 404)
            #expect(try await Self.add(Self.gif, at: 0, to: path, service, token: bob.token).status == 404)
            let removed = try await service.send("DELETE", path, token: bob.token, headers: [Self.version])
            #expect(removed.status == 404)
            let master = try await service.send("HEAD", path, key: TestService.masterKey, headers: [Self.version])
            #expect(master.status == 200)
        }
    }

    @Test func aRefusedClientIsNotAskedForItsBody() async throws {
        try await withFileService { service, _ in
            let ann = try await service.signUp("ann")
            let path = try await Self.create(service, token: ann.token)
            let rows: [(method: String, path: String, headers: [(String, String)], token: String?, status: Int)] = [
                ("PATCH", Self.unknown, [Self.offset(0)], ann.token, 404),
                ("PATCH", path, [Self.offset(1)], ann.token, 409),
                ("PATCH", path, [Self.offset(0)], nil, 401),
                ("POST", "/files/tus", [Self.length(10), Self.metadata], ann.token, 413),
                ("POST", "/files/tus", [Self.length(2 << 20), Self.metadata], ann.token, 413),
            ]
            for row in rows {
                try await withConnection(port: service.port) { connection in
                    let fields = [("Expect", "100-continue"), ("Content-Length", "33"), Self.version, Self.type]
                    try await connection.send(
                        TestService.head(row.method, row.path, token: row.token, headers: fields + row.headers)
                    )
                    let response = try await connection.response()
                    #expect(response.status == row.status, "\(row)")
                    #expect(try await connection.isClosedByServer())
                }
            }
            try await withConnection(port: service.port) { connection in
                let fields = [
                    ("Expect", "100-continue"), ("Content-Length", "32"), Self.version, Self.type, Self.offset(0),
                ]
                try await connection.send(TestService.head("PATCH", path, token: ann.token, headers: fields))
                #expect(try await connection.response().status == 100)
                try await connection.send(Self.gif)
                #expect(try await connection.response().status == 204)
            }
        }
    }

    // MARK: - Connections that break

    @Test func whatHasArrivedBeforeAConnectionBreaksIsKept() async throws {
        try await withFileService { service, storage in
            let ann = try await service.signUp("ann")
            let path = try await Self.create(service, token: ann.token)
            try await withConnection(port: service.port) { connection in
                let headers = [Self.version, Self.type, Self.offset(0), ("Content-Length", "32")]
                try await connection.send(TestService.head("PATCH", path, token: ann.token, headers: headers))
                try await connection.send(String(Self.gif.prefix(10)))
                try await waiting(until: "the part is written") { storage.largestPart == 10 }
                // The older request still waits for its bytes.
                let asked = try await Self.ask(path, service, token: ann.token)
                #expect(asked["upload-offset"] == "10")
                #expect(try await connection.response().status >= 400)
            }
            let rest = try await Self.add(String(Self.gif.dropFirst(10)), at: 10, to: path, service, token: ann.token)
            let file = try Self.asset(rest)
            #expect(try await service.send("GET", file.signed, key: nil).body == Self.gif)
        }
    }

    @Test func anUploadSurvivesManyBreaks() async throws {
        try await withFileService { service, storage in
            var random = SeededGenerator.forTest()
            let ann = try await service.signUp("ann")
            let content = String(
                (0..<600_000).map { _ in Character(Unicode.Scalar(UInt8.random(in: 97...122, using: &random))) }
            )
            let path = try await Self.create(service, length: content.utf8.count, token: ann.token)
            var start = 0
            for _ in 0..<12 {
                let rest = content.dropFirst(start)
                let most = min(100_000, rest.utf8.count / 2)
                let sent = String(rest.prefix(Int.random(in: 1...most, using: &random)))
                try await withConnection(port: service.port) { connection in
                    let headers = [
                        Self.version, Self.type, Self.offset(start), ("Content-Length", "\(rest.utf8.count)"),
                    ]
                    try await connection.send(
                        TestService.head("PATCH", path, token: ann.token, headers: headers) + sent
                    )
                    // A request that begins later would move the offset behind the back of the next one.
                    try await waiting(until: "the request has begun") { storage.incoming == 1 }
                }
                let asked = try await Self.ask(path, service, token: ann.token)
                let offset = try #require(asked["upload-offset"].flatMap { Int($0) }, "\(asked.status)")
                #expect(offset >= start && offset <= start + sent.utf8.count)
                start = offset
            }
            let last = try await Self.add(
                String(content.dropFirst(start)),
                at: start,
                to: path,
                service,
                token: ann.token
            )
            #expect(last.status == 204)
            let got = try await service.send("GET", Self.asset(last).signed, key: nil)
            #expect(got.body == content)
        }
    }
}
