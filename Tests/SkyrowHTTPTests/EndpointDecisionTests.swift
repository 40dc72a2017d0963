import NIOCore
import NIOHTTP1
import SkyrowModel
import SkyrowProtocol
import Testing

@testable import SkyrowHTTP

/// What the endpoints decide without a connection or a database.
@Suite struct EndpointDecisionTests {
    @Test(arguments: [
        ("/rpc", Route.rpc),
        ("/rpc?api_key=x", .rpc),
        ("http://example.com/rpc", .rpc),
        ("/healthz", .health),
        ("/readyz?verbose", .readiness),
        ("/", .skygear(path: "")),
        ("", .skygear(path: "")),
        ("http://example.com", .skygear(path: "")),
        ("/record/save", .skygear(path: "record/save")),
        ("/rpc/", .skygear(path: "rpc/")),
        ("/healthz/x", .skygear(path: "healthz/x")),
        ("/files", .files("")),
        ("/files?filename=a.png", .files("")),
        ("/files/", .files("")),
        ("/files/a.png?download=1", .files("a.png")),
        ("/files/../a%2Fb", .files("../a%2Fb")),
        ("http://example.com/files/a", .files("a")),
        ("/filesystem", .skygear(path: "filesystem")),
        ("/console/x", .unserved),
        ("/pubsub", .unserved),
        ("/_/pubsub?api_key=k", .unserved),
        ("/metrics", .metrics),
    ])
    func thePathTellsTheRoute(uri: String, route: Route) {
        #expect(Route(uri: uri) == route)
    }

    @Test(
        arguments: [
            ([], nil, nil),
            ([("X-Skygear-API-Key", "k")], "k", nil),
            ([("x-skygear-api-key", "k"), ("X-SKYGEAR-ACCESS-TOKEN", "t")], "k", "t"),
            ([("Authorization", "Bearer t")], nil, "t"),
            ([("authorization", "bearer   t")], nil, "t"),
            ([("X-Skygear-Access-Token", "old"), ("Authorization", "Bearer new")], nil, "new"),
            ([("Authorization", "Bearer new"), ("X-Skygear-Access-Token", "old")], nil, "new"),
            ([("Authorization", "Basic dXNlcjpwYXNz"), ("X-Skygear-Access-Token", "t")], nil, "t"),
            ([("Authorization", "Bearer")], nil, nil),
            ([("Authorization", "Bearer ")], nil, nil),
            ([("X-Skygear-API-Key", ""), ("X-Skygear-Access-Token", "")], nil, nil),
        ] as [([(String, String)], String?, String?)]
    )
    func credentialsComeFromHeaders(fields: [(String, String)], key: String?, token: String?) {
        let headers = RequestHeaders(HTTPHeaders(fields))
        #expect(headers.credentials(admitsMasterKey: true) == Credentials(key: key, accessToken: token))
    }

    @Test(arguments: [
        ("abc-DEF_1.2:3+/=", true),
        (String(repeating: "x", count: 128), true),
        (String(repeating: "x", count: 129), false),
        ("", false),
        ("two words", false),
        ("line\nbreak", false),
        ("quote\"", false),
        ("é", false),
    ])
    func aGivenRequestIDMustBePlain(text: String, isAccepted: Bool) {
        #expect(RequestID(given: text)?.description == (isAccepted ? text : nil))
        #expect(
            RequestHeaders(HTTPHeaders([("X-Request-Id", text)])).requestID?.description == (isAccepted ? text : nil)
        )
    }

    @Test func madeRequestIDsAreDistinctUUIDs() {
        var generator = RequestIDGenerator()
        let ids = (0..<10_000).map { _ in generator.next().description }
        #expect(Set(ids).count == ids.count)
        #expect(
            ids.allSatisfy {
                $0.wholeMatch(of: /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/) != nil
            }
        )
        var other = RequestIDGenerator()
        #expect(!ids.contains(other.next().description))
    }

    @Test func aLineBreakInAFieldCannotBeginAnother() {
        var buffer = ByteBuffer()
        let response = HTTPResponse(status: .ok, fields: [HTTPField("x-a", "b\r\nset-cookie: c\nd\0e")])
        response.writeHead(into: &buffer, date: [], keepsAlive: true, version: .http1_1)
        #expect(
            String(buffer: buffer)
                == "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nserver: Skyrow\r\ncache-control: no-store\r\n"
                + "x-content-type-options: nosniff\r\nx-a: b  set-cookie: c d e\r\n\r\n"
        )
    }

    @Test(
        arguments: [
            (CORSPolicy.anyOrigin, nil, []),
            (.anyOrigin, "https://a.example", ["access-control-allow-origin: *"]),
            (.off, "https://a.example", []),
            (.origins(["https://a.example"]), nil, ["vary: origin"]),
            (.origins(["https://a.example"]), "https://b.example", ["vary: origin"]),
            (.origins(["https://a.example"]), "https://a.example.evil.example", ["vary: origin"]),
            (
                .origins(["https://a.example"]), "https://a.example",
                [
                    "vary: origin", "access-control-allow-origin: https://a.example",
                    "access-control-allow-credentials: true",
                ]
            ),
        ] as [(CORSPolicy, String?, [String])]
    )
    func answersTellWhichOriginsMayRead(policy: CORSPolicy, origin: String?, fields: [String]) {
        let lines = policy.fields(origin: origin).map { "\($0.name): \($0.value)" }
        #expect(lines.filter { !$0.hasPrefix("access-control-expose-headers") } == fields)
    }

    /// skygear.md 1.4, and ours from 130.
    @Test(arguments: [
        (200, [116]), (400, [107, 108, 120, 134]), (401, [101, 103, 104, 105, 106]), (403, [102, 123, 124, 127, 128]),
        (404, [110, 117]), (409, [109, 113, 114, 115, 130, 133]), (413, [129, 132]), (429, [131]), (501, [111, 112]),
        (503, [118, 121, 122, 125, 135, 10002]), (504, [119]),
        (500, [126, 136, 10000, 10001, 10003, 10004, 10005, 4711]),
    ])
    func eachCodeHasTheStatusOfSkygear(status: Int, codes: [Int]) {
        for code in codes { #expect(Int(ErrorCode(rawValue: code).httpStatus.code) == status, "\(code)") }
    }

    @Test func everyRegisteredCodeHasAStatusOnPurpose() {
        let serverFaults: Set<ErrorCode> = [
            .passwordPolicyViolated, .outcomeUnknown, .unexpectedError, .unexpectedAuthInfoNotFound,
            .unexpectedUserNotFound,
        ]
        for code in ErrorCode.names.keys where code.rawValue > 0 {
            #expect((code.httpStatus == .internalServerError) == serverFaults.contains(code), "\(code.name)")
        }
    }
}
