import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowActions
@testable import SkyrowHTTP

/// Who may read a file, and how it is sent.
@Suite struct FileDownloadTests {
    private static let gif = "GIF89a, and the rest of an image"
    private static let policy =
        "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; media-src 'self'; sandbox"

    // MARK: - Who may read

    @Test func theSignatureOfAnAddressIsForItsFileAndItsTime() async throws {
        try await withFileService { service, _ in
            let ann = try await service.signUp("ann")
            let file = try await service.upload(Self.gif, token: ann.token)
            let other = try await service.upload(Self.gif, token: ann.token)
            let query = file.signed.drop { $0 != "?" }
            let unpadded = file.signed.hasSuffix("=") ? String(file.signed.dropLast()) : file.signed
            let signature = try FileQuery(of: file.signed).signature
            let expiry = try #require(signature?.expiredAt)
            let rows: [(String, Int, Int?)] = [
                (file.signed, 200, nil),
                (unpadded, 200, nil),
                (file.signed + "&download=1", 200, nil),
                (file.signed + "&application=nothing", 200, nil),
                ("\(file.path)?expiredAt=soon&signature=x", 400, 108),
                ("\(file.path)?expiredAt=&signature=x", 400, 108),
                ("\(file.path)?signature=x", 400, 108),
                ("\(file.path)?x=%zz", 400, 108),
                ("\(file.path)?expiredAt=1&signature=x", 403, 102),
                ("\(file.path)?expiredAt=\(expiry)", 401, 106),
                ("\(file.path)?expiredAt=\(expiry)&signature=", 401, 106),
                ("\(file.path)?expiredAt=\(expiry)0&signature=x", 401, 106),
                ("\(file.path)\(other.signed.drop { $0 != "?" })", 401, 106),
                ("\(other.path)\(query)", 401, 106),
                ("/files/7b0e2a7c-7135-4912-a6c9-7c1dbec0f5ef-cat.gif\(query)", 401, 106),
            ]
            for (path, status, code) in rows {
                let response = try await service.send("GET", path, key: nil)
                #expect(response.status == status, "\(path): \(response.body)")
                if let code {
                    #expect(try JSONValue(response.body)["error"]["code"].integer == code, "\(path)")
                    #expect(response["cache-control"] == "no-store")
                } else {
                    #expect(response.body == Self.gif, "\(path)")
                }
            }
        }
    }

    @Test func withoutASignatureTheRecordDecides() async throws {
        try await withFileService { service, _ in
            let ann = try await service.signUp("ann")
            let ben = try await service.signUp("ben")
            let open = try await service.upload(Self.gif, token: ann.token)
            let closed = try await service.upload(Self.gif, token: ann.token)
            let unused = try await service.upload(Self.gif, token: ann.token)
            let save = """
                {"records":[{"_id":"note/open","_access":null,"picture":\(open.value)},
                            {"_id":"note/closed","_access":[],"picture":\(closed.value)}]}
                """
            #expect(try await service.v1("/record/save", save, token: ann.token).status == 200)
            let rows: [(TestUpload, key: String?, token: String?, Int, String)] = [
                (open, nil, nil, 200, "public, max-age=300"),
                (open, TestService.apiKey, nil, 200, "private, max-age=0"),
                (open, nil, ben.token, 200, "private, max-age=0"),
                (closed, nil, ann.token, 200, "private, max-age=0"),
                (closed, TestService.masterKey, nil, 200, "private, max-age=0"),
                (closed, nil, ben.token, 404, "no-store"),
                (closed, TestService.apiKey, nil, 404, "no-store"),
                (closed, nil, nil, 404, "no-store"),
                (unused, nil, ann.token, 200, "private, max-age=0"),
                (unused, nil, ben.token, 404, "no-store"),
                (unused, nil, nil, 404, "no-store"),
                (open, "wrong", nil, 401, "no-store"),
                (open, nil, "wrong", 401, "no-store"),
            ]
            for (number, (file, key, token, status, cache)) in rows.enumerated() {
                for method in ["GET", "HEAD"] {
                    let response = try await service.send(method, file.path, key: key, token: token)
                    #expect(response.status == status, "\(number): \(response.body)")
                    #expect(response["cache-control"] == cache, "\(number)")
                }
            }
        }
    }

    /// A path that is not a name, a name that never was and the name of a hidden file cannot be told apart.
    @Test func whatCannotBeReadLooksLikeNothing() async throws {
        try await withFileService { service, storage in
            let ann = try await service.signUp("ann")
            let hidden = try await service.upload(Self.gif, token: ann.token)
            let lost = try await service.upload(Self.gif, token: ann.token)
            try storage.lose(lost.name)
            let id = "7b0e2a7c-7135-4912-a6c9-7c1dbec0f5ef"
            let never = try await service.send("GET", "/files/\(id)-cat.gif", key: nil)
            #expect(never.status == 404)
            #expect(try JSONValue(never.body)["error"]["code"].integer == 110)
            let paths = [
                hidden.path, "\(hidden.path)/", "/files//\(hidden.name)", "/files/./\(hidden.name)",
                "/files/../files/\(hidden.name)", "\(hidden.path)%20", "\(hidden.path)%00", "/files/%2e%2e",
                "/files/%2e%2e%2f%2e%2e%2fetc%2fpasswd", "/files/..", "/files/../../etc/passwd", "/files/~",
                "/files/~root", "/files/incoming", "/files/\(id.uppercased())-cat.gif", "/files/\(id)-", "/files/\(id)",
                "/files/\(id)-%2e%2e", "/files/\(id)-a%2fb", "/files/\(id)-K%C3%A4tzchen.gif", "/files/%FF",
                "/files/\(id)-\(String(repeating: "x", count: 5000)).gif",
                "/files/\(hidden.name.id.prefix(2))/\(hidden.name)",
                "/files/\\\(hidden.name)", "/files/\(id)-cat.gif;a=b",
            ]
            func plain(_ response: RawResponse) -> [String] {
                response.fields.filter { !["date", "x-skygear-request-id"].contains($0.0) }.map { "\($0.0): \($0.1)" }
            }
            for path in paths {
                let response = try await service.send("GET", path, key: nil)
                #expect(response.status == 404, "\(path)")
                #expect(response.body == never.body, "\(path)")
                #expect(plain(response) == plain(never), "\(path)")
                #expect(try await service.send("HEAD", path, key: nil).status == 404, "\(path)")
            }
            // The bytes are gone: the log says so, the response does not.
            let gone = try await service.send("GET", lost.path, key: nil, token: ann.token)
            #expect(gone.body == never.body)
            #expect(storage.names.contains(hidden.name))
        }
    }

    // MARK: - What is sent

    @Test func aFileOrAPartOfItIsSent() async throws {
        try await withFileService { service, _ in
            let ann = try await service.signUp("ann")
            let content = Self.gif + String(repeating: "0123456789", count: 100_000)
            let size = content.utf8.count
            let file = try await service.upload(content, token: ann.token)
            let tag = "\"\(file.name.id)\""
            let whole = try await service.send("GET", file.signed, key: nil)
            #expect(whole.status == 200)
            #expect(whole.body == content)
            #expect(whole["etag"] == tag)
            #expect(whole["accept-ranges"] == "bytes")
            #expect(whole["content-length"] == "\(size)")
            #expect(whole["cache-control"]?.hasPrefix("private, max-age=") == true)
            #expect(whole.fields.filter { $0.0 == "cache-control" }.count == 1)
            let date = try #require(whole["last-modified"])
            let rows: [([(String, String)], Int, Range<Int>?)] = [
                ([("Range", "bytes=0-99")], 206, 0..<100),
                ([("Range", "bytes=1000-")], 206, 1000..<size),
                ([("Range", "bytes=-10")], 206, size - 10..<size),
                ([("Range", "bytes=0-0,5-6")], 200, 0..<size),
                ([("Range", "bytes=\(size)-")], 416, nil),
                ([("Range", "bytes=0-9"), ("If-Range", tag)], 206, 0..<10),
                ([("Range", "bytes=0-9"), ("If-Range", date)], 206, 0..<10),
                ([("Range", "bytes=0-9"), ("If-Range", "\"other\"")], 200, 0..<size),
                ([("If-None-Match", tag)], 304, nil),
                ([("If-None-Match", "\"other\"")], 200, 0..<size),
                ([("If-Modified-Since", date)], 304, nil),
                ([("If-Modified-Since", "Sun, 06 Nov 1994 08:49:37 GMT")], 200, 0..<size),
                ([("If-Match", tag), ("Range", "bytes=0-9")], 206, 0..<10),
                ([("If-Match", "\"other\"")], 412, nil),
                ([("If-Unmodified-Since", "Sun, 06 Nov 1994 08:49:37 GMT")], 412, nil),
            ]
            try await withConnection(port: service.port) { connection in
                for (fields, status, range) in rows {
                    try await connection.get(file.signed, headers: fields)
                    let response = try await connection.response(toHead: status == 304)
                    #expect(response.status == status, "\(fields)")
                    #expect(response["etag"] == tag)
                    #expect(response["accept-ranges"] == "bytes")
                    switch status {
                    case 412:
                        #expect(try JSONValue(response.body)["error"]["code"].integer == 130)
                    case 206:
                        let range = try #require(range)
                        #expect(response.body == String(content.dropFirst(range.lowerBound).prefix(range.count)))
                        let bounds = "\(range.lowerBound)-\(range.upperBound - 1)"
                        #expect(response["content-range"] == "bytes \(bounds)/\(size)")
                    case 200: #expect(response.body == content)
                    case 416:
                        #expect(response["content-range"] == "bytes */\(size)")
                        #expect(try JSONValue(response.body)["error"]["code"].integer == 108)
                    default:
                        #expect(response["content-length"] == nil)
                        #expect(response["cache-control"]?.hasPrefix("private, max-age=") == true)
                    }
                }
                try await connection.get(file.signed, method: "HEAD", headers: [("Range", "bytes=0-9")])
                let head = try await connection.response(toHead: true)
                #expect(head.status == 200)
                #expect(head["content-length"] == "\(size)")
                #expect(head["etag"] == tag)
                // The connection is as good as before.
                try await connection.get("/healthz")
                #expect(try await connection.response().status == 200)
            }
        }
    }

    /// Content that a browser would run, under every type that its uploader may claim.
    @Test(arguments: [
        ("a.gif", "image/gif", "GIF89a<script>alert(1)</script>", "image/gif", true),
        ("a.html", "text/html", "<script>alert(1)</script>", "application/octet-stream", false),
        ("a.png", "image/png", "<script>alert(1)</script>", "application/octet-stream", false),
        ("a.html", "image/gif", "GIF89a<script>alert(1)</script>", "image/gif", true),
        ("a.svg", "image/svg+xml", "<svg onload='alert(1)'/>", "image/svg+xml", false),
        ("a.js", "text/javascript", "alert(1)", "application/octet-stream", false),
        ("a.pdf", "application/pdf", "%PDF-1.7 and so on", "application/pdf", true),
        ("a.txt", "text/plain", "plain", "text/plain; charset=utf-8", true),
        ("a.zip", "application/zip", "PK\u{3}\u{4}", "application/zip", false),
        ("a", "", "what is this", "application/octet-stream", false),
    ])
    func noFileRunsInABrowser(
        filename: String,
        type: String,
        content: String,
        sentType: String,
        isInline: Bool
    ) async throws {
        try await withFileService { service, _ in
            let ann = try await service.signUp("ann")
            let file = try await service.upload(
                content,
                as: filename,
                type: type.isEmpty ? nil : type,
                token: ann.token
            )
            for (path, isInline) in [(file.signed, isInline), (file.signed + "&download=1", false)] {
                let response = try await service.send("GET", path, key: nil)
                #expect(response.body == content)
                #expect(response["content-type"] == sentType)
                let disposition = response["content-disposition"] ?? ""
                #expect(disposition.hasPrefix(isInline ? "inline;" : "attachment;"), "\(disposition)")
                #expect(response["x-content-type-options"] == "nosniff")
                #expect(response["content-security-policy"] == Self.policy)
                #expect(response["cross-origin-resource-policy"] == "cross-origin")
            }
        }
    }

    @Test(arguments: [
        "a\r\nSet-Cookie: x=1\r\n.gif", "a\"; filename=\"b.exe", "a\\..\\b.gif", "../../etc/passwd", "\u{202E}gif.exe",
        "<script>.gif", "a;b=c.gif", "K\u{e4}tzchen.gif", String(repeating: "x", count: 200) + ".gif",
    ])
    func aFilenameStaysInItsField(filename: String) async throws {
        try await withFileService { service, _ in
            let ann = try await service.signUp("ann")
            let file = try await service.upload(Self.gif, as: filename, token: ann.token)
            let response = try await service.send("GET", file.signed, key: nil)
            #expect(response.status == 200)
            #expect(response.body == Self.gif)
            #expect(response["set-cookie"] == nil)
            let disposition = try #require(response["content-disposition"])
            #expect(disposition.utf8.allSatisfy { (0x20...0x7e).contains($0) })
            // One quoted text, and nothing that would end it.
            #expect(disposition.filter { $0 == "\"" }.count == 2, "\(disposition)")
        }
    }

    // MARK: - Around it

    @Test func pagesOfOtherOriginsUploadAndRead() async throws {
        try await withFileService { service, _ in
            let ann = try await service.signUp("ann")
            let origin = ("Origin", "https://app.example")
            let preflight = try await service.send(
                "OPTIONS",
                "/files/a.gif",
                key: nil,
                headers: [
                    origin, ("Access-Control-Request-Method", "PUT"),
                    ("Access-Control-Request-Headers", "content-md5, content-type, x-skygear-api-key"),
                ]
            )
            #expect(preflight.status == 204)
            #expect(preflight["access-control-allow-methods"]?.contains("PUT") == true)
            #expect(
                preflight["access-control-allow-headers"] == "content-md5, content-type, x-skygear-api-key"
            )
            let uploaded = try await service.send(
                "POST",
                "/files?filename=a.gif",
                Self.gif,
                token: ann.token,
                headers: [origin, ("Content-Type", "image/gif")]
            )
            #expect(uploaded["access-control-allow-origin"] == "*")
            let exposed = uploaded["access-control-expose-headers"] ?? ""
            for field in ["ETag", "Content-Range", "Location"] { #expect(exposed.contains(field)) }
            let file = try TestUpload(uploaded)
            // A cache may send a response that an <img> caused to a script, so both have the field.
            #expect(try await service.send("GET", file.signed, key: nil)["access-control-allow-origin"] == "*")
            let again = try await service.send("GET", file.signed, key: nil, headers: [origin])
            #expect(again["access-control-allow-origin"] == "*")
            let refused = try await service.send("GET", file.path, key: nil, headers: [origin])
            #expect(refused.status == 404)
            #expect(refused["access-control-allow-origin"] == "*")
        }
        try await withFileService(cors: .origins(["https://app.example"])) { service, _ in
            let ann = try await service.signUp("ann")
            let file = try await service.upload(Self.gif, token: ann.token)
            let plain = try await service.send("GET", file.signed, key: nil)
            #expect(plain["access-control-allow-origin"] == nil)
            #expect(plain["vary"] == "origin")
            let headers = [("Origin", "https://app.example")]
            let allowed = try await service.send("GET", file.signed, key: nil, headers: headers)
            #expect(allowed["access-control-allow-origin"] == "https://app.example")
        }
    }

    @Test func otherMethodsAreNotAllowed() async throws {
        try await withFileService { service, _ in
            let path = "/files/7b0e2a7c-7135-4912-a6c9-7c1dbec0f5ef-cat.gif"
            let rows = [
                ("DELETE", path, "GET, HEAD, POST, PUT, OPTIONS"), ("PATCH", path, "GET, HEAD, POST, PUT, OPTIONS"),
                ("GET", "/files", "POST, OPTIONS"), ("PUT", "/files/", "POST, OPTIONS"),
                ("HEAD", "/files?filename=a", "POST, OPTIONS"),
            ]
            for (method, path, allowed) in rows {
                let response = try await service.send(method, path)
                #expect(response.status == 405, "\(method) \(path)")
                #expect(response["allow"] == allowed)
            }
        }
    }

    @Test func withoutAStorageThereAreNoPathsOfFiles() async throws {
        try await withService { service in
            for (method, body) in [("GET", nil), ("PUT", "x"), ("DELETE", nil)] as [(String, String?)] {
                let response = try await service.send(method, "/files/a.gif", body)
                #expect(response.status == 404)
                #expect(try JSONValue(response.body)["error"]["code"].integer == 117)
            }
        }
    }

    @Test func theLogNamesNoFile() async throws {
        let lines = LogLines()
        let storage = try TestFileStorage()
        let files = FileConfiguration(storage: storage, urlPrefix: TestUpload.prefix)
        try await withService(files: files, logger: lines.logger) { service in
            let ann = try await service.signUp("ann")
            lines.removeAll()
            let file = try await service.upload(Self.gif, as: "private-name.gif", token: ann.token)
            _ = try await service.send("GET", file.signed, key: nil)
            _ = try await service.send("GET", "/files/private-name", key: nil)
            // Before it is cached.
            let lost = try await service.upload(Self.gif, as: "private-name.gif", token: ann.token)
            try storage.lose(lost.name)
            _ = try await service.send("GET", lost.signed, key: nil)
            let requests = lines.all.filter { $0.hasPrefix("Request") && !$0.contains("action=upload") }
            #expect(requests.count == 3)
            #expect(lines.all.count { $0.contains("action=upload") } == 2)
            #expect(requests.first?.contains("outcome=OK") == true)
            #expect(requests.allSatisfy { $0.contains("action=download") })
            #expect(requests.last?.contains("outcome=ResourceNotFound") == true)
            #expect(!lines.all.contains { $0.contains("private-name") || $0.contains("signature") })
        }
    }

    @Test func requestsForFilesCountAgainstTheRateLimit() async throws {
        let storage = try TestFileStorage()
        let files = FileConfiguration(storage: storage, urlPrefix: TestUpload.prefix)
        let id = "7b0e2a7c-7135-4912-a6c9-7c1dbec0f5ef"
        let requests =
            [
                ("GET", "/files/..", nil), ("GET", "/files/\(id)-cat.gif", nil), ("GET", "/files/a?x=%zz", nil),
                ("GET", "/files/\(id)-cat.gif?expiredAt=1&signature=x", nil), ("POST", "/files/\(id)-cat.gif", "x"),
                ("POST", "/files", "x"), ("PUT", "/files/a.gif", "x"),
            ] as [(String, String, String?)]
        for (method, path, body) in requests {
            let limits = RateLimits(client: RateLimit(2, per: .seconds(3600)))
            try await withService(rateLimits: limits, files: files) { service in
                for _ in 0..<2 {
                    let response = try await service.send(method, path, body)
                    #expect(response.status != 429, "\(path)")
                }
                let refused = try await service.send(method, path, body)
                #expect(refused.status == 429, "\(path)")
                #expect(refused["retry-after"] != nil)
            }
        }
    }
}
