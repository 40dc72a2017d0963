import NIOCore
import NIOHTTP2
import NIOPosix
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowActions
@testable import SkyrowHTTP

/// Every way to send a file, and what is refused.
@Suite struct FileUploadTests {
    private static let form = ("Content-Type", TestForm.contentType)
    private static let gif = "GIF89a, and the rest of an image"

    @Test func aFormOfAnSDKBecomesTheValueOfARecord() async throws {
        try await withFileService { service, _ in
            let ann = try await service.signUp("ann")
            let action = try await service.announce("Kätz+chen 1.gif", size: Self.gif.utf8.count, token: ann.token)
            #expect(action.hasPrefix("/files/"))
            #expect(action.contains("-K_tz_chen_1.gif?"))
            // SDKs send the key, and no token.
            let body = TestForm().field("k", "v").file(Self.gif).body
            let uploaded = try await service.send("POST", action, body, headers: [Self.form])
            #expect(uploaded.status == 200)
            let file = try TestUpload(uploaded)
            #expect(file.contentType == "image/gif")
            #expect(file.size == Self.gif.utf8.count)

            let save = #"{"records":[{"_id":"note/1","picture":\#(file.value)}]}"#
            #expect(try await service.v1("/record/save", save, token: ann.token).status == 200)
            let fetched = try await service.v1("/record/fetch", #"{"ids":["note/1"]}"#, token: ann.token)
            let picture = try TestUpload(JSONValue(fetched.body)["result"][0]["picture"])
            #expect(picture.name == file.name)
            let image = try await service.send("GET", picture.signed, key: nil)
            #expect(image.status == 200)
            #expect(image.body == Self.gif)
            #expect(image["content-type"] == "image/gif")
            #expect(
                image["content-disposition"]
                    == #"inline; filename="K_tz+chen 1.gif"; filename*=UTF-8''K%C3%A4tz+chen%201.gif"#
            )
        }
    }

    @Test func theSignatureOfAnAddressIsEnough() async throws {
        try await withFileService { service, storage in
            let ann = try await service.signUp("ann")
            // Longer than a body without credentials may be.
            let content = Self.gif + String(repeating: "x", count: 100_000)
            let action = try await service.announce("a.gif", size: content.utf8.count, token: ann.token)
            let body = TestForm().file(content).body
            let uploaded = try await service.send("POST", action, body, key: nil, headers: [Self.form])
            let file = try TestUpload(uploaded)
            #expect(file.size == content.utf8.count)
            // A second file does not replace it.
            let again = try await service.send("POST", action, body, key: nil, headers: [Self.form])
            #expect(again.status == 409)
            #expect(storage.names == [file.name])
        }
    }

    @Test func oldClientsPutTheirFile() async throws {
        try await withFileService { service, _ in
            let ann = try await service.signUp("ann")
            let type = ("Content-Type", "image/gif")
            let response = try await service.send(
                "PUT",
                "/files/my+cat%20%C3%A4.gif",
                Self.gif,
                token: ann.token,
                headers: [type]
            )
            #expect(response.status == 200)
            let file = try TestUpload(response)
            #expect(file.name.rawValue.hasSuffix("-my_cat_.gif"))
            let got = try await service.send("GET", file.signed, key: nil)
            #expect(got.body == Self.gif)
            #expect(got["content-disposition"]?.hasSuffix("filename*=UTF-8''my+cat%20%C3%A4.gif") == true)
        }
    }

    @Test func aDirectUploadNamesWhatItCreated() async throws {
        try await withFileService { service, _ in
            let ann = try await service.signUp("ann")
            let response = try await service.send(
                "POST",
                "/files?filename=notes.txt",
                "some text",
                token: ann.token,
                headers: [("Content-Type", "text/plain; charset=utf-8")]
            )
            #expect(response.status == 201)
            let file = try TestUpload(response)
            #expect(response["location"] == file.path)
            #expect(file.contentType == "text/plain")
            let got = try await service.send("GET", try #require(response["location"]), key: nil, token: ann.token)
            #expect(got.body == "some text")
        }
    }

    /// Checksums of "hello".
    @Test(arguments: [
        ("Content-MD5", "XUFAKrxLKna5cZ2REBfFkg==", 201),
        ("Content-MD5", "1B2M2Y8AsgTpgAmY7PhCfg==", 400),
        ("Content-MD5", "5d41402abc4b2a76b9719d911017c592", 400),
        ("Digest", "sha-256=LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=", 201),
        ("Digest", "SHA-256=LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=,MD5=XUFAKrxLKna5cZ2REBfFkg==", 201),
        ("Digest", "sha-256=47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=", 400),
        ("Digest", "sha-256=LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=,md5=1B2M2Y8AsgTpgAmY7PhCfg==", 400),
        ("Content-Digest", "sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:", 201),
        ("Content-Digest", "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:", 400),
        ("Repr-Digest", "sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:", 201),
        ("Repr-Digest", "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:", 400),
    ])
    func aFileIsComparedWithItsChecksum(field: String, value: String, status: Int) async throws {
        try await withFileService { service, storage in
            let ann = try await service.signUp("ann")
            for (method, path) in [("POST", "/files?filename=a.txt"), ("PUT", "/files/a.txt")] {
                let response = try await service.send(
                    method,
                    path,
                    "hello",
                    token: ann.token,
                    headers: [(field, value), ("Content-Type", "text/plain")]
                )
                #expect(response.status == (status == 201 && method == "PUT" ? 200 : status), "\(response.body)")
                if status == 400 { #expect(try JSONValue(response.body)["error"]["code"].integer == 108) }
            }
            #expect(storage.names.count == (status == 201 ? 2 : 0))
        }
    }

    /// An upload that is refused; `NAME` stands for the path of a file of 10 bytes that ann has announced, and `BARE` for the
    /// same without a signature.
    struct Row: Sendable {
        let label: String
        var method = "POST"
        var path = "NAME"
        var body: String
        var type: String? = TestForm.contentType
        var key: String? = TestService.apiKey
        var isByAnn = true
        let status: Int
        let code: Int
    }

    private static let rows: [Row] = [
        Row(label: "shorter than announced", body: TestForm().file("123456789").body, status: 400, code: 108),
        Row(label: "longer than announced", body: TestForm().file("12345678901").body, status: 413, code: 129),
        Row(label: "empty", body: TestForm().file("").body, status: 400, code: 108),
        Row(label: "no part", body: TestForm().field("a", "b").body, status: 400, code: 107),
        Row(label: "no form", body: "1234567890", type: "image/gif", status: 400, code: 107),
        Row(label: "no type", body: "1234567890", type: nil, status: 400, code: 107),
        Row(label: "no body", body: "", status: 400, code: 107),
        Row(label: "not the form that it says", body: "1234567890", status: 400, code: 107),
        Row(
            label: "a form without an end",
            body: String(TestForm().file("1234567890").body.dropLast(6)),
            status: 400,
            code: 107
        ),
        Row(
            label: "two files",
            body: TestForm().file("1234567890").file("1234567890").body,
            status: 400,
            code: 107
        ),
        Row(
            label: "too much beside the file",
            body: TestForm().field("a", String(repeating: "x", count: 70_000)).file("1234567890").body,
            status: 400,
            code: 107
        ),
        Row(
            label: "a name that never was",
            path: "/files/7b0e2a7c-7135-4912-a6c9-7c1dbec0f5ef-cat.gif",
            body: TestForm().file("1234567890").body,
            status: 404,
            code: 110
        ),
        Row(
            label: "a text that is not a name",
            path: "/files/cat.gif",
            body: TestForm().file("1234567890").body,
            status: 404,
            code: 110
        ),
        Row(
            label: "by another user without a signature",
            path: "BARE",
            body: TestForm().file("1234567890").body,
            isByAnn: false,
            status: 404,
            code: 110
        ),
        Row(
            label: "without a signature and a key",
            path: "BARE",
            body: TestForm().file("1234567890").body,
            key: nil,
            isByAnn: false,
            status: 401,
            code: 101
        ),
        Row(label: "an empty body", method: "PUT", path: "/files/a.gif", body: "", type: nil, status: 400, code: 108),
        Row(label: "an empty direct one", path: "/files?filename=a.gif", body: "", type: nil, status: 400, code: 108),
        Row(label: "without a name", path: "/files", body: "x", type: nil, status: 400, code: 108),
        Row(label: "a form for nothing", path: "/files?filename=a.gif", body: "x", status: 400, code: 107),
        Row(
            label: "by a key alone",
            path: "/files?filename=a.gif",
            body: "x",
            type: nil,
            isByAnn: false,
            status: 401,
            code: 101
        ),
        Row(
            label: "with a wrong key",
            path: "/files?filename=a.gif",
            body: "x",
            type: nil,
            key: "wrong",
            status: 401,
            code: 103
        ),
        Row(
            label: "by nothing",
            path: "/files?filename=a.gif",
            body: "x",
            type: nil,
            key: nil,
            isByAnn: false,
            status: 401,
            code: 101
        ),
        Row(
            label: "a long one by nothing",
            path: "/files?filename=a.gif",
            body: String(repeating: "x", count: 100_000),
            type: nil,
            key: nil,
            isByAnn: false,
            status: 401,
            code: 101
        ),
        Row(
            label: "too large",
            path: "/files?filename=a.gif",
            body: String(repeating: "x", count: (1 << 20) + 1),
            type: nil,
            status: 413,
            code: 129
        ),
        Row(
            label: "NUL in the name",
            path: "/files?filename=a%00.gif",
            body: "x",
            type: nil,
            status: 400,
            code: 108
        ),
        Row(
            label: "NUL in the path",
            method: "PUT",
            path: "/files/a%00.gif",
            body: "x",
            type: nil,
            status: 400,
            code: 108
        ),
    ]

    @Test func whatIsNotAFileIsRefused() async throws {
        try await withFileService { service, storage in
            let ann = try await service.signUp("ann")
            for row in Self.rows {
                let action = try await service.announce("a.gif", size: 10, token: ann.token)
                let path =
                    switch row.path {
                    case "NAME": action
                    case "BARE": String(action.prefix { $0 != "?" })
                    default: row.path
                    }
                let response = try await service.send(
                    row.method,
                    path,
                    row.body,
                    key: row.key,
                    token: row.isByAnn ? ann.token : nil,
                    headers: row.type.map { [("Content-Type", $0)] } ?? []
                )
                #expect(response.status == row.status, "\(row.label): \(response.body)")
                let error = try JSONValue(response.body)["error"]
                #expect(error["code"].integer == row.code, "\(row.label): \(response.body)")
                try await waiting(until: "the upload was discarded: \(row.label)") { storage.incoming == 0 }
            }
            #expect(storage.names.isEmpty)
        }
    }

    @Test func theSignatureOfAnUploadIsForItsFileAndItsTime() async throws {
        try await withFileService { service, storage in
            let ann = try await service.signUp("ann")
            let action = try await service.announce("a.gif", size: 10, token: ann.token)
            let other = try await service.announce("b.gif", size: 10, token: ann.token)
            let query = action.drop { $0 != "?" }
            let path = action.prefix { $0 != "?" }
            let body = TestForm().file("1234567890").body
            let rows: [(String, Int, Int)] = [
                ("\(path)?expiredAt=tomorrow&signature=x", 400, 108),
                ("\(path)?signature=x", 400, 108),
                ("\(path)?expiredAt=1&signature=x", 403, 102),
                ("\(path)?expiredAt=99999999999&signature=x", 401, 106),
                ("\(path)\(other.drop { $0 != "?" })", 401, 106),
                ("\(other.prefix { $0 != "?" })\(query)", 401, 106),
                ("\(path)?x=%zz", 400, 108),
            ]
            for (path, status, code) in rows {
                let response = try await service.send("POST", path, body, key: nil, headers: [Self.form])
                #expect(response.status == status, "\(path): \(response.body)")
                #expect(try JSONValue(response.body)["error"]["code"].integer == code, "\(path)")
            }
            // The signature of a download allows no upload.
            let file = try await service.upload(Self.gif, token: ann.token)
            let download = file.signed.drop { $0 != "?" }
            let refused = try await service.send("POST", "\(path)\(download)", body, key: nil, headers: [Self.form])
            #expect(try JSONValue(refused.body)["error"]["code"].integer == 106)
            #expect(storage.names == [file.name])
            #expect(try await service.send("POST", action, body, key: nil, headers: [Self.form]).status == 200)
        }
    }

    @Test func aKeyUploadsWhereTheSettingSaysSo() async throws {
        try await withFileService(uploads: .key) { service, _ in
            let file = try await service.upload(Self.gif, token: nil)
            #expect(try await service.send("GET", file.signed, key: nil).body == Self.gif)
            let action = try await service.announce("a.gif", size: Self.gif.utf8.count)
            let path = String(action.prefix { $0 != "?" })
            let body = TestForm().file(Self.gif).body
            #expect(try await service.send("POST", path, body, key: nil, headers: [Self.form]).status == 401)
            #expect(try await service.send("POST", path, body, headers: [Self.form]).status == 200)
        }
    }

    // MARK: - What else goes wrong

    @Test func aFullDiskStopsUploadsAndNothingElse() async throws {
        try await withFileService { service, storage in
            let ann = try await service.signUp("ann")
            let action = try await service.announce("a.gif", size: Self.gif.utf8.count, token: ann.token)
            storage.fail(with: .noSpace)
            let body = TestForm().file(Self.gif).body
            for (path, body, type) in [
                (action, body, TestForm.contentType), ("/files?filename=a.gif", Self.gif, "image/gif"),
            ] {
                let response = try await service.send(
                    "POST",
                    path,
                    body,
                    token: ann.token,
                    headers: [("Content-Type", type)]
                )
                #expect(response.status == 507)
                #expect(try JSONValue(response.body)["error"]["code"].integer == 135)
            }
            let saved = try await service.v1("/record/save", #"{"records":[{"_id":"note/1"}]}"#, token: ann.token)
            #expect(saved.status == 200)
            storage.fail(with: .unavailable("away"))
            let away = try await service.send("POST", "/files?filename=a.gif", Self.gif, token: ann.token)
            #expect(away.status == 503)
            #expect(away["retry-after"] == "1")
            #expect(!away.body.contains("away"))
            // The client can try again with what it announced.
            storage.fail(with: nil)
            let uploaded = try await service.send("POST", action, body, headers: [Self.form])
            #expect(uploaded.status == 200)
        }
    }

    @Test func aClientHasEightUploadsAtOnce() async throws {
        try await withFileService { service, storage in
            let ann = try await service.signUp("ann")
            let gate = Gate<Void>("the storage to go on")
            storage.hold(at: gate)
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        try await service.send("POST", "/files?filename=a.gif", Self.gif, token: ann.token).status
                    }
                }
                try await waiting(until: "all have begun") { storage.incoming == 8 }
                let refused = try await service.send("POST", "/files?filename=a.gif", Self.gif, token: ann.token)
                #expect(refused.status == 429)
                gate.open()
                for try await status in group { #expect(status == 201) }
            }
            #expect(try await service.send("POST", "/files?filename=a.gif", Self.gif, token: ann.token).status == 201)
        }
    }

    @Test func overHTTP2AFileIsUploadedAndDownloaded() async throws {
        let certificate = try await TestCertificate()
        let h2 = try certificate.client(protocols: ["h2"])
        try await withFileService(certificate: certificate.server(), client: certificate.client()) { service, _ in
            let ann = try await service.signUp("ann")
            let content = Self.gif + String(repeating: "x", count: 300_000)
            try await withHTTP2(port: service.port, tls: h2) { connection in
                let token = ("authorization", "Bearer \(ann.token)")
                let headers = [token, ("content-type", "image/gif")]
                try await connection.head("POST", "/files?filename=a.gif", on: 1, headers: headers)
                var rest = ByteBuffer(string: content)
                while let part = rest.readSlice(length: min(rest.readableBytes, 16_000)), part.readableBytes > 0 {
                    try await connection.body(part, on: 1, isWhole: rest.readableBytes == 0)
                }
                let uploaded = try await connection.response(on: 1)
                #expect(uploaded.status == 201)
                let file = try TestUpload(JSONValue(uploaded.body)["result"])
                #expect(uploaded["location"] == file.path)
                try await connection.get(file.signed, on: 3)
                let whole = try await connection.response(on: 3)
                #expect(whole.body == content)
                #expect(whole["cache-control"]?.hasPrefix("private, max-age=") == true)
                try await connection.get(file.signed, on: 5, headers: [("range", "bytes=6-8")])
                let part = try await connection.response(on: 5)
                #expect(part.status == 206)
                #expect(part.body == ", a")
                #expect(part["content-range"] == "bytes 6-8/\(content.utf8.count)")
                // A refused upload leaves the other requests of its connection alone.
                let length = ("content-length", "\((1 << 20) + 1)")
                try await connection.head("POST", "/files?filename=a.gif", on: 7, headers: headers + [length])
                #expect(try await connection.response(on: 7).status == 413)
                try await connection.head("GET", file.path, on: 9, headers: [token], isWhole: true)
                #expect(try await connection.response(on: 9).status == 200)
            }
        }
    }
}
