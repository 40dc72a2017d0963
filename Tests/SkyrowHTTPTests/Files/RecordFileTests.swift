import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowActions
@testable import SkyrowHTTP

/// Files in fields of records, by the path of the field.
@Suite struct RecordFileTests {
    private static let gif = "GIF89a, and the rest of an image"
    private static let other = "GIF89a, and the rest of another image"
    private static let type = ("Content-Type", "image/gif")

    /// Saves a note of ann, which everyone reads unless it has a list.
    private static func save(_ service: TestService, _ members: String, token: String, _ database: String = "_public")
        async throws -> Int
    {
        let response = try await service.call(
            "record:save",
            #"{"database_id":"\#(database)","records":[{\#(members)}]}"#,
            token: token
        )
        return try #require(response["result"][0]["_revision"].integer, "\(response)")
    }

    private static func put(
        _ service: TestService,
        _ path: String,
        _ content: String = gif,
        token: String?,
        headers: [(String, String)] = []
    ) async throws -> RawResponse {
        try await service.send("PUT", "/files/records/\(path)", content, token: token, headers: [type] + headers)
    }

    @Test func aFileIsUploadedAndSavedInOne() async throws {
        try await withFileService { service, storage in
            let ann = try await service.signUp("ann")
            let before = try await Self.save(service, #""_id":"note/1","title":"x""#, token: ann.token)
            let first = try await Self.put(service, "note/1/photo", token: ann.token)
            #expect(first.status == 201, "\(first.body)")
            let file = try TestUpload(first)
            #expect(first["location"] == file.path)
            #expect(file.name.rawValue.hasSuffix("-photo.gif"))
            #expect(file.contentType == "image/gif" && file.size == Self.gif.utf8.count)
            let note = try await service.call("record:fetch", #"{"ids":["note/1"]}"#)["result"][0]
            #expect(note["photo"]["$name"].string == file.name.rawValue)
            #expect(note["title"].string == "x" && (note["_revision"].integer ?? 0) > before)
            #expect(note["_updated_by"].string == ann.id)

            // Another one takes its place.
            let second = try await Self.put(
                service,
                "note/1/photo?filename=b%20c.gif",
                Self.other,
                token: ann.token
            )
            #expect(second.status == 200)
            let replacement = try TestUpload(second)
            #expect(replacement.name.rawValue.hasSuffix("-b_c.gif"))
            for (method, token) in [("GET", nil), ("GET", ann.token), ("HEAD", nil)] as [(String, String?)] {
                let got = try await service.send(method, "/files/records/note/1/photo", token: token)
                let byName = try await service.send(method, replacement.path, token: token)
                #expect(got.status == 200)
                #expect(got.body == (method == "GET" ? Self.other : ""))
                func plain(_ response: RawResponse) -> [String] {
                    response.fields.filter { !["date", "x-skygear-request-id"].contains($0.0) }
                        .map { "\($0.0): \($0.1)" }
                }
                #expect(plain(got) == plain(byName))
            }
            let part = try await service.send(
                "GET",
                "/files/records/note/1/photo?download=1",
                headers: [("Range", "bytes=0-5")]
            )
            #expect(part.status == 206 && part.body == "GIF89a")
            #expect(part["content-disposition"]?.hasPrefix("attachment") == true)
            let same = [("If-None-Match", "\"\(replacement.name.id)\"")]
            #expect(try await service.send("GET", "/files/records/note/1/photo", headers: same).status == 304)

            for _ in 0..<2 {
                let cleared = try await service.send("DELETE", "/files/records/note/1/photo", token: ann.token)
                #expect(cleared.status == 204 && cleared.body.isEmpty)
                let gone = try await service.send("GET", "/files/records/note/1/photo")
                #expect(gone.status == 404)
                #expect(try JSONValue(gone.body)["error"]["code"].integer == 110)
            }
            // The files wait for collection.
            #expect(storage.names == [file.name, replacement.name])
        }
    }

    @Test func aPrivateRecordIsReachedByItsDatabase() async throws {
        try await withFileService { service, _ in
            let (ann, bob) = (try await service.signUp("ann"), try await service.signUp("bob"))
            _ = try await Self.save(service, #""_id":"note/1""#, token: ann.token, "_private")
            let rows: [(String, String?, String?, Int)] = [
                ("?database_id=_private", TestService.apiKey, ann.token, 201),
                ("?database_id=\(ann.id)", TestService.apiKey, ann.token, 200),
                ("?database_id=\(ann.id)", TestService.masterKey, nil, 200),
                ("", TestService.apiKey, ann.token, 404),
                ("?database_id=_private", TestService.apiKey, bob.token, 404),
                ("?database_id=\(ann.id)", TestService.apiKey, bob.token, 403),
                ("?database_id=_private", TestService.apiKey, nil, 401),
                ("?database_id=_union", TestService.masterKey, nil, 501),
            ]
            for (query, key, token, status) in rows {
                let put = try await service.send(
                    "PUT",
                    "/files/records/note/1/photo\(query)",
                    Self.gif,
                    key: key,
                    token: token,
                    headers: [Self.type]
                )
                #expect(put.status == status, "PUT \(query): \(put.body)")
                guard status != 501 else { continue }
                let got = try await service.send("GET", "/files/records/note/1/photo\(query)", key: key, token: token)
                #expect(got.status == (status == 201 ? 200 : status), "GET \(query): \(got.body)")
            }
        }
    }

    /// What a request gets: the status of `PUT`, `GET` and `DELETE`, with the code of the refusal.
    struct Row: Sendable {
        let path: String
        var key: String? = TestService.apiKey
        /// Whose token it has.
        var user: String?
        let put: (status: Int, code: Int?)
        let get: (status: Int, code: Int?)
        var delete: (status: Int, code: Int?)?
    }

    private static let rows: [Row] = [
        Row(path: "note/open/photo", user: "ann", put: (200, nil), get: (200, nil)),
        Row(path: "note/open/photo", user: "bob", put: (403, 102), get: (200, nil)),
        Row(path: "note/open/photo", put: (401, 101), get: (200, nil)),
        Row(path: "note/open/photo", key: nil, put: (401, 101), get: (401, 101)),
        Row(path: "note/open/photo", key: "wrong", put: (401, 103), get: (401, 103)),
        Row(path: "note/open/photo", key: TestService.masterKey, put: (200, nil), get: (200, nil)),
        Row(path: "note/shared/photo", user: "bob", put: (200, nil), get: (200, nil)),
        Row(path: "note/closed/photo", user: "ann", put: (200, nil), get: (200, nil)),
        // A record that may not be read is as one that does not exist.
        Row(path: "note/closed/photo", user: "bob", put: (404, 110), get: (404, 110)),
        Row(path: "note/never/photo", user: "bob", put: (404, 110), get: (404, 110)),
        Row(path: "never/1/photo", user: "bob", put: (404, 110), get: (404, 110), delete: (404, 110)),
        // Fields that the caller may not read or write, and those that hold something else
        Row(path: "note/shared/secret", user: "bob", put: (403, 123), get: (404, 110)),
        Row(path: "note/shared/fixed", user: "bob", put: (403, 123), get: (200, nil)),
        Row(path: "note/open/title", user: "ann", put: (409, 114), get: (404, 110), delete: (404, 110)),
        Row(path: "note/open/data", user: "ann", put: (409, 114), get: (404, 110), delete: (404, 110)),
        Row(path: "note/open/_owner", user: "ann", put: (400, 108), get: (400, 108)),
        Row(path: "note/open/none", user: "bob", put: (403, 102), get: (404, 110), delete: (404, 110)),
        Row(path: "note/open", user: "ann", put: (404, 110), get: (404, 110)),
        Row(path: "no%2Fte/open/photo", user: "ann", put: (400, 108), get: (400, 108)),
        Row(path: "note/open/photo?x=%zz", user: "ann", put: (400, 108), get: (400, 108)),
        Row(path: "note/open/photo?database_id=_none", user: "ann", put: (400, 108), get: (400, 108)),
    ]

    @Test func aCallerNeedsTheRightsOfTheSave() async throws {
        try await withFileService { service, storage in
            let (ann, bob) = (try await service.signUp("ann"), try await service.signUp("bob"))
            let file = try await service.upload(Self.gif, token: ann.token)
            let fields = #""photo":\#(file.value),"secret":\#(file.value),"fixed":\#(file.value),"title":"x""#
            for (id, list) in [
                ("open", "null"), ("closed", "[]"), ("shared", #"[{"user_id":"\#(bob.id)","level":"write"}]"#),
            ] {
                let data = #""data":[\#(file.value)]"#
                let members = #""_id":"note/\#(id)","_access":\#(list),\#(fields),\#(data)"#
                _ = try await Self.save(service, members, token: ann.token)
            }
            let owner = #"[{"owner":true}]"#
            let rules = #"{"secret":{"read":\#(owner),"update":\#(owner)},"fixed":{"update":\#(owner)}}"#
            let set = try await service.call(
                "schema:access:set",
                #"{"record_type":"note","fields":\#(rules)}"#,
                key: TestService.masterKey
            )
            #expect(set["error"] == .null, "\(set)")
            let tokens = ["ann": ann.token, "bob": bob.token]
            for row in Self.rows {
                let token = row.user.flatMap { tokens[$0] }
                let path = "/files/records/\(row.path)"
                for (method, body, expected) in [
                    ("PUT", Self.gif, row.put), ("GET", nil, row.get), ("HEAD", nil, row.get),
                ] as [(String, String?, (status: Int, code: Int?))] {
                    let kept = storage.names.count
                    let response = try await service.send(
                        method,
                        path,
                        body,
                        key: row.key,
                        token: token,
                        headers: body == nil ? [] : [Self.type]
                    )
                    #expect(response.status == expected.status, "\(method) \(row): \(response.body)")
                    if let code = expected.code, method != "HEAD" {
                        #expect(try JSONValue(response.body)["error"]["code"].integer == code, "\(method) \(row)")
                    }
                    #expect(storage.names.count == kept + (method == "PUT" && expected.status == 200 ? 1 : 0), "\(row)")
                }
            }
            // Each of these leaves the field as it is, before one that clears it.
            for row in Self.rows where row.put.status != 200 {
                let expected = row.delete ?? row.put
                let token = row.user.flatMap { tokens[$0] }
                let path = "/files/records/\(row.path)"
                let response = try await service.send("DELETE", path, key: row.key, token: token)
                #expect(response.status == expected.status, "DELETE \(row): \(response.body)")
                if let code = expected.code {
                    #expect(try JSONValue(response.body)["error"]["code"].integer == code, "DELETE \(row)")
                }
            }
            let left = "SELECT count(*) FROM app.note WHERE num_nulls(photo, secret, fixed, title, data) = 0"
            #expect(try await service.database.psql(left) == "3")
        }
    }

    /// A record that is hidden, one that does not exist and a type that does not: the same bytes and fields, apart from the time.
    @Test func whatMayNotBeReadLooksLikeNothing() async throws {
        try await withFileService { service, _ in
            let (ann, bob) = (try await service.signUp("ann"), try await service.signUp("bob"))
            _ = try await Self.save(service, #""_id":"note/1","_access":[]"#, token: ann.token)
            #expect(try await Self.put(service, "note/1/photo", token: ann.token).status == 201)
            for method in ["GET", "PUT", "DELETE"] {
                var seen: Set<[String]> = []
                for path in ["note/1/photo", "note/2/photo"] {
                    let response = try await service.send(
                        method,
                        "/files/records/\(path)",
                        method == "PUT" ? Self.gif : nil,
                        token: bob.token,
                        headers: [Self.type]
                    )
                    #expect(response.status == 404)
                    // Whether the connection ends depends on how much of the body has arrived.
                    let fields = response.fields.filter {
                        !["connection", "date", "x-skygear-request-id"].contains($0.0)
                    }
                    seen.insert(fields.map { "\($0.0): \($0.1)" } + [response.body])
                }
                #expect(seen.count == 1, "\(method): \(seen)")
            }
        }
    }

    @Test func theRevisionOfTheRecordIsCompared() async throws {
        try await withFileService { service, storage in
            let ann = try await service.signUp("ann")
            let revision = try await Self.save(service, #""_id":"note/1""#, token: ann.token)
            let path = "note/1/photo"
            for (value, status, code) in [
                ("\"\(revision + 1)\"", 412, 130), ("\(revision)", 400, 108), ("\"x\"", 400, 108),
            ] {
                let headers = [("If-Match", value)]
                let put = try await Self.put(service, path, token: ann.token, headers: headers)
                #expect(put.status == status, "\(value): \(put.body)")
                #expect(try JSONValue(put.body)["error"]["code"].integer == code)
                let delete = try await service.send(
                    "DELETE",
                    "/files/records/\(path)",
                    token: ann.token,
                    headers: headers
                )
                // No type has this field yet.
                #expect(delete.status == (status == 412 ? 404 : status), "\(value): \(delete.body)")
            }
            #expect(storage.names.isEmpty)
            for (number, value) in ["\"\(revision)\"", "*"].enumerated() {
                let put = try await Self.put(service, path, token: ann.token, headers: [("If-Match", value)])
                #expect(put.status == (number == 0 ? 201 : 200), "\(put.body)")
            }
            let stale = [("If-Match", "\"\(revision)\"")]
            let delete = try await service.send("DELETE", "/files/records/\(path)", token: ann.token, headers: stale)
            #expect(delete.status == 412)
            #expect(try await service.send("GET", "/files/records/\(path)").status == 200)
        }
    }

    /// Nothing is asked for that the head shows to be refused.
    @Test func aRefusedClientIsNotAskedForItsBody() async throws {
        try await withFileService { service, storage in
            let (ann, bob) = (try await service.signUp("ann"), try await service.signUp("bob"))
            _ = try await Self.save(service, #""_id":"note/1","title":"x""#, token: ann.token)
            let rows: [(path: String, length: Int, token: String?, status: Int)] = [
                ("note/1/photo", 100, bob.token, 403), ("note/2/photo", 100, ann.token, 404),
                ("note/1/title", 100, ann.token, 409), ("note/1/photo", 100, nil, 401),
                ("note/1/photo", (1 << 20) + 1, ann.token, 413), ("note/1", 100, ann.token, 404),
            ]
            for row in rows {
                try await withConnection(port: service.port) { connection in
                    let headers = [("Expect", "100-continue"), ("Content-Length", "\(row.length)"), Self.type]
                    let path = "/files/records/\(row.path)"
                    try await connection.send(TestService.head("PUT", path, token: row.token, headers: headers))
                    #expect(try await connection.response().status == row.status, "\(row)")
                }
            }
            #expect(storage.names.isEmpty)
        }
    }

    /// The record changes while the body arrives; the file of the refused save is deleted at once.
    @Test func theSaveIsJudgedAgainAtTheEnd() async throws {
        try await withFileService { service, storage in
            let ann = try await service.signUp("ann")
            let revision = try await Self.save(service, #""_id":"note/1","title":"x""#, token: ann.token)
            let path = "/files/records/note/1/photo"
            for (change, condition, status) in [
                ("UPDATE app.note SET title = 'y'", [("If-Match", "\"\(revision)\"")], 412),
                ("UPDATE app.note SET _owner = NULL, _access = NULL", [], 403),
                ("DELETE FROM app.note", [], 404),
            ] as [(String, [(String, String)], Int)] {
                try await withConnection(port: service.port) { connection in
                    let headers = [("Expect", "100-continue"), ("Content-Length", "\(Self.gif.utf8.count)"), Self.type]
                    try await connection.send(
                        TestService.head("PUT", path, token: ann.token, headers: headers + condition)
                    )
                    #expect(try await connection.response().status == 100)
                    _ = try await service.database.psql(change)
                    try await connection.send(Self.gif)
                    #expect(try await connection.response().status == status, "\(change)")
                }
                #expect(storage.names.isEmpty, "\(change)")
                #expect(try await service.database.psql("SELECT count(*) FROM app_internal._asset") == "0")
                // As it was before, for the next row.
                _ = try await service.database.psql("UPDATE app.note SET _owner = '\(ann.id)'")
            }
        }
    }

    @Test func aFailedUploadSavesNothing() async throws {
        try await withFileService { service, storage in
            let ann = try await service.signUp("ann")
            _ = try await Self.save(service, #""_id":"note/1""#, token: ann.token)
            let md5 = ("Content-MD5", "1B2M2Y8AsgTpgAmY7PhCfg==")
            #expect(try await Self.put(service, "note/1/photo", token: ann.token, headers: [md5]).status == 400)
            #expect(try await Self.put(service, "note/1/photo", "", token: ann.token).status == 400)
            let form = [("Content-Type", TestForm.contentType)]
            let body = TestForm().file(Self.gif).body
            let path = "/files/records/note/1/photo"
            #expect(try await service.send("PUT", path, body, token: ann.token, headers: form).status == 400)
            storage.fail(with: .noSpace)
            #expect(try await Self.put(service, "note/1/photo", token: ann.token).status == 507)
            storage.fail(with: nil)
            #expect(storage.names.isEmpty)
            #expect(try await service.send("GET", path).status == 404)
            for method in ["POST", "PATCH"] {
                let response = try await service.send(method, path, token: ann.token)
                #expect(response.status == 405)
                #expect(response["allow"] == "GET, HEAD, PUT, DELETE, OPTIONS")
            }
        }
    }
}
