import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowActions
@testable import SkyrowHTTP

/// The requests of Skygear's JavaScript SDK v1.7.2 as it sends them, byte by byte: an announcement, a form, a save, and the file.
///
/// They were recorded from the SDK against a service; only addresses, keys, tokens and lengths are those of the test.
@Suite struct SkygearSDKFileTests {
    /// What sends the form.
    struct Sender: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// The fields of the head besides the key, the type of the form and the length.
        let fields: [String]
        let boundary: String
        /// The field `Content-Disposition` of the file.
        let disposition: String
        let contentType: String

        /// In Node.js, by superagent and form-data: the name of the asset, and the type of its ending.
        static let node = Sender(
            testDescription: "Node.js",
            fields: ["Accept-Encoding: gzip, deflate", "Connection: close"],
            boundary: "--------------------------99ffdbc1-fb54-4db7-ad06-83b41e7c28f7",
            disposition: #"Content-Disposition: form-data; name="file"; filename="Kätz+chen 1.gif""#,
            contentType: "image/gif"
        )

        /// In a browser, by FormData: a `Blob` has neither a name nor a type.
        static let browser = Sender(
            testDescription: "a browser",
            fields: [
                "Connection: keep-alive", "sec-ch-ua-mobile: ?0", "User-Agent: Mozilla/5.0 (X11; Linux x86_64)",
                "Accept: */*", "Origin: http://application.example", "Sec-Fetch-Site: cross-site",
                "Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: empty", "Referer: http://application.example/",
                "Accept-Encoding: gzip, deflate, br",
            ],
            boundary: "----WebKitFormBoundary7MA4YWxkTrZu0gWm",
            disposition: #"Content-Disposition: form-data; name="file"; filename="blob""#,
            contentType: "application/octet-stream"
        )
    }

    private static let gif = "GIF89a, and the rest of an image"

    /// Sends lines and a body, whose length is added, on a new connection.
    private static func exchange(_ service: TestService, _ lines: [String], _ body: String) async throws -> RawResponse
    {
        try await withConnection(port: service.port) { connection in
            let head = lines + ["Content-Length: \(body.utf8.count)", "", ""]
            try await connection.send(head.joined(separator: "\r\n") + body)
            return try await connection.response()
        }
    }

    /// Sends an action; its body has the token and the key, too.
    private static func action(
        _ service: TestService,
        _ name: String,
        _ members: String,
        _ token: String
    ) async throws -> JSONValue {
        let lines = [
            "POST /\(name.replacing(":", with: "/")) HTTP/1.1", "Host: 127.0.0.1:\(service.port)",
            "Accept-Encoding: gzip, deflate", "Content-Type: application/json", "Accept: application/json",
            "X-Skygear-API-Key: \(TestService.apiKey)", "X-Skygear-SDK-Version: skygear-SDK-JS/1.7.2",
            "X-Skygear-Access-Token: \(token)", "Connection: close",
        ]
        let key = TestService.apiKey
        let body = #"{"access_token":"\#(token)","action":"\#(name)","api_key":"\#(key)",\#(members)}"#
        let response = try await exchange(service, lines, body)
        #expect(response.status == 200, "\(response.body)")
        return try JSONValue(response.body)["result"]
    }

    @Test(arguments: [Sender.node, .browser])
    func aFileBecomesTheValueOfARecord(sender: Sender) async throws {
        try await withFileService { service, _ in
            let ann = try await service.signUp("ann")
            let announced = try await Self.action(
                service,
                "asset:put",
                #""filename":"Kätz+chen 1.gif","content-type":"image/gif","content-size":\#(Self.gif.utf8.count)"#,
                ann.token
            )
            let request = announced["post-request"]
            let action = try #require(request["action"].string)
            // The SDK puts it behind the address of the service, which ends with a slash, and sends each field before the file.
            #expect(action.hasPrefix("/"))
            #expect(request["extra-fields"] == .object([:]))
            let asset = try TestUpload(announced["asset"])

            let form = [
                "--\(sender.boundary)", sender.disposition, "Content-Type: \(sender.contentType)", "", Self.gif,
                "--\(sender.boundary)--", "",
            ]
            let lines =
                ["POST \(action) HTTP/1.1", "Host: 127.0.0.1:\(service.port)"] + sender.fields + [
                    "X-Skygear-API-Key: \(TestService.apiKey)",
                    "content-type: multipart/form-data; boundary=\(sender.boundary)",
                ]
            let uploaded = try await Self.exchange(service, lines, form.joined(separator: "\r\n"))
            #expect(uploaded.status == 200, "\(uploaded.body)")

            // The value has the address that the SDK knows, which a save does not read.
            let value = #"{"$type":"asset","$name":"\#(asset.name)","$url":"http://other.example/cat.gif"}"#
            let saved = try await Self.action(
                service,
                "record:save",
                #""database_id":"_public","records":[{"_id":"note/1","_access":null,"title":"cat","picture":\#(value)}]"#,
                ann.token
            )
            #expect(try TestUpload(saved[0]["picture"]).name == asset.name)
            let found = try await Self.action(
                service,
                "record:query",
                #""database_id":"_public","record_type":"note","limit":50,"sort":[],"include":{},"count":false"#,
                ann.token
            )
            let picture = try TestUpload(found[0]["picture"])
            let whole = try await service.send("GET", picture.signed, key: nil)
            #expect(whole.status == 200 && whole.body == Self.gif)
            #expect(whole["content-type"] == "image/gif")
            let part = try await service.send("GET", picture.signed, key: nil, headers: [("Range", "bytes=6-8")])
            #expect(part.status == 206 && part.body == ", a")
            #expect(part["content-range"] == "bytes 6-8/32")
        }
    }

    /// The preflight request of a browser, which the field with the key requires.
    @Test func aBrowserMaySendTheForm() async throws {
        try await withFileService { service, _ in
            let ann = try await service.signUp("ann")
            let action = try await service.announce("a.gif", size: 10, token: ann.token)
            let origin = ("Origin", "http://application.example")
            let asked = try await service.send(
                "OPTIONS",
                action,
                key: nil,
                headers: [
                    origin, ("Access-Control-Request-Method", "POST"),
                    ("Access-Control-Request-Headers", "x-skygear-api-key"),
                ]
            )
            #expect((200..<300).contains(asked.status))
            #expect(asked["access-control-allow-origin"] == "*")
            #expect(asked["access-control-allow-methods"]?.contains("POST") == true)
            #expect(asked["access-control-allow-headers"]?.lowercased().contains("x-skygear-api-key") == true)
            let form = TestForm().file("1234567890").body
            let uploaded = try await service.send(
                "POST",
                action,
                form,
                headers: [origin, ("Content-Type", TestForm.contentType)]
            )
            #expect(uploaded.status == 200)
            #expect(uploaded["access-control-allow-origin"] == "*")
        }
    }
}
