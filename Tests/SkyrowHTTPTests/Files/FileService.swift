import Foundation
import NIOCore
import NIOSSL
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowActions
@testable import SkyrowHTTP

/// Runs a service that stores files for the length of `body`.
func withFileService(
    uploads: UploadAudience = .user,
    maximum: Int64 = 1 << 20,
    quota: Int64 = FileConfiguration.defaultQuota,
    cors: CORSPolicy = .anyOrigin,
    limits: HTTPLimits = HTTPLimits(),
    certificate: ServerCertificate? = nil,
    client: NIOSSLContext? = nil,
    test: String = #function,
    _ body: (TestService, TestFileStorage) async throws -> Void
) async throws {
    let storage = try TestFileStorage()
    let files = FileConfiguration(
        storage: storage,
        urlPrefix: TestUpload.prefix,
        uploads: uploads,
        maximum: maximum,
        quota: quota
    )
    try await withService(
        cors: cors,
        limits: limits,
        files: files,
        certificate: certificate,
        client: client,
        test: test
    ) { service in
        try await body(service, storage)
        // An upload that ends without a file leaves nothing behind.
        try await waiting(until: "no upload is in progress") { storage.incoming == 0 }
        try await waiting(until: "the memory of bodies is given back") { service.counts.statistics.bodyBytes == 0 }
    }
}

/// What the response to an upload names.
struct TestUpload {
    /// What precedes the names in addresses.
    static let prefix = "https://files.example/of"

    let name: AssetName
    let contentType: String?
    let size: Int?
    /// The path and query of its signed address.
    let signed: String

    init(_ response: RawResponse) throws {
        try self.init(JSONValue(response.body)["result"], response.body)
    }

    /// - Parameter asset: the value of a record, or of a response.
    init(_ asset: JSONValue, _ text: String = "") throws {
        guard asset["$type"].string == "asset", let name = asset["$name"].string.flatMap({ AssetName($0) }),
            let url = asset["$url"].string, url.hasPrefix(Self.prefix + "/")
        else { throw UnexpectedResponse(response: "\(asset) \(text)") }
        self.name = name
        contentType = asset["$content_type"].string
        size = asset["$size"].integer
        signed = "/files" + url.dropFirst(Self.prefix.count)
    }

    var path: String { "/files/\(name)" }

    /// The value of a field of a record.
    var value: String { #"{"$type":"asset","$name":"\#(name)"}"# }
}

/// A form of parts in the order of a browser.
struct TestForm {
    static let boundary = "----WebKitFormBoundaryx"
    static let contentType = "multipart/form-data; boundary=\(boundary)"

    private var text = ""

    func field(_ name: String, _ value: String) -> TestForm {
        part("form-data; name=\"\(name)\"", nil, value)
    }

    func file(_ content: String, type: String? = "image/gif", name: String = "file") -> TestForm {
        part("form-data; name=\"\(name)\"; filename=\"a.gif\"", type, content)
    }

    private func part(_ disposition: String, _ type: String?, _ content: String) -> TestForm {
        var form = self
        let type = type.map { "Content-Type: \($0)\r\n" } ?? ""
        form.text += "--\(Self.boundary)\r\nContent-Disposition: \(disposition)\r\n\(type)\r\n\(content)\r\n"
        return form
    }

    var body: String { text + "--\(Self.boundary)--\r\n" }
}

extension TestService {
    /// Sends one request on a connection that it closes.
    func send(
        _ method: String,
        _ path: String,
        _ body: String? = nil,
        key: String? = TestService.apiKey,
        token: String? = nil,
        headers: [(String, String)] = []
    ) async throws -> RawResponse {
        try await withConnection(port: port, tls: tls) { connection in
            try await connection.send(Self.head(method, path, body, key: key, token: token, headers: headers))
            if let body { try await connection.send(body) }
            return try await connection.response(toHead: method == "HEAD")
        }
    }

    /// The head of a request.
    static func head(
        _ method: String,
        _ path: String,
        _ body: String? = nil,
        key: String? = TestService.apiKey,
        token: String? = nil,
        headers: [(String, String)] = []
    ) -> String {
        var fields = headers
        if let key { fields.append(("X-Skygear-API-Key", key)) }
        if let token { fields.append(("Authorization", "Bearer \(token)")) }
        if let body { fields.append(("Content-Length", "\(body.utf8.count)")) }
        return "\(method) \(path) HTTP/1.1\r\nhost: localhost\r\n"
            + fields.map { "\($0): \($1)\r\n" }.joined() + "\r\n"
    }

    /// Uploads a file by `POST /files`.
    func upload(
        _ content: String,
        as filename: String = "a.gif",
        type: String? = "image/gif",
        token: String?
    ) async throws -> TestUpload {
        let name = filename.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? filename
        let headers = type.map { [("Content-Type", $0)] } ?? []
        return try TestUpload(
            try await send("POST", "/files?filename=\(name)", content, token: token, headers: headers)
        )
    }

    /// Announces a file, and returns the path to which a form uploads it.
    func announce(
        _ filename: String,
        type: String = "image/gif",
        size: Int,
        key: String? = TestService.apiKey,
        token: String? = nil
    ) async throws -> String {
        let parameters = #"{"filename":"\#(filename)","content-type":"\#(type)","content-size":\#(size)}"#
        let response = try await v1("/asset/put", parameters, key: key, token: token)
        let request = try JSONValue(response.body)["result"]["post-request"]
        guard let action = request["action"].string, request["extra-fields"] == .object([:]) else {
            throw UnexpectedResponse(response: response.body)
        }
        return action
    }
}
