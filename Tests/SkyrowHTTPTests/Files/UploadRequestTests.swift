import NIOHTTP1
import SkyrowActions
import SkyrowJSON
import SkyrowModel
import Testing

@testable import SkyrowHTTP

/// What the head of an upload says.
@Suite struct UploadRequestTests {
    private static let name = "7b0e2a7c-7135-4912-a6c9-7c1dbec0f5ef-cat.png"
    private static let form = ("content-type", "multipart/form-data; boundary=x")

    /// A description of the upload, or the code of its refusal.
    private static func outcome(_ method: HTTPMethod, _ uri: String, _ fields: [(String, String)]) -> String {
        let head = HTTPRequestHead(version: .http1_1, method: method, uri: uri, headers: HTTPHeaders(fields))
        guard case .files(let name) = Route(uri: uri) else { return "elsewhere" }
        do throws(SkyrowError) {
            let query = try FileQuery(of: uri)
            let field = try FieldPath(name)?.field(in: query.database)
            let request = try UploadRequest(head, name: name, field: field, query: query)
            let length = request.length.map { "\($0)" } ?? "-"
            switch request.target {
            case .announced(let name, let signature):
                return "form \(name) \(signature?.expiredAt ?? "-") \(signature?.signature ?? "-") \(length)"
            case .new(let filename, let type):
                return "\(request.isDirect ? "direct" : "put") \(filename) \(type ?? "-") \(length)"
            case .field(let field, let precondition, let filename, let type):
                return "\(field.record) \(field.name) \(precondition) \(filename) \(type ?? "-") \(length)"
            }
        } catch {
            return "\(error.code.rawValue)"
        }
    }

    @Test(
        arguments: [
            (.POST, "/files/\(name)", [form], "form \(name) - - -"),
            (.POST, "/files/\(name)?expiredAt=12&signature=a-_%3D", [form], "form \(name) 12 a-_= -"),
            (.POST, "/files/\(name)?signature=a=", [form, ("content-length", "900")], "form \(name)  a= -"),
            (.POST, "/files/\(name)", [], "107"),
            (.POST, "/files/\(name)", [("content-type", "image/png")], "107"),
            (.POST, "/files/\(name)", [form, ("content-md5", "1B2M2Y8AsgTpgAmY7PhCfg==")], "108"),
            (.POST, "/files/\(name)?x=%zz", [form], "108"),
            (.POST, "/files/cat.png", [form], "110"),
            (.POST, "/files/../\(name)", [form], "110"),
            (.POST, "/files/\(name)/", [form], "110"),
            (
                .PUT, "/files/cat.png", [("content-type", "image/png"), ("content-length", "5")],
                "put cat.png image/png 5"
            ),
            // A plus is a plus in a path, and a space in a query.
            (.PUT, "/files/a+b%20K%C3%A4tzchen.png", [], "put a+b Kätzchen.png - -"),
            (.PUT, "/files/a%2Fb%00.png", [], "put a/b\0.png - -"),
            (.PUT, "/files/%FF.png", [], "108"),
            (.PUT, "/files/%2", [], "108"),
            (.PUT, "/files/cat.png", [form], "107"),
            (.POST, "/files?filename=a+b.png", [("content-type", "image/png")], "direct a b.png image/png -"),
            (.POST, "/files/?filename=cat.png", [("content-length", "5")], "direct cat.png - 5"),
            (
                .POST, "/files?filename=cat.png", [("content-length", "99999999999999999999")],
                "direct cat.png - \(Int.max)"
            ),
            (.POST, "/files", [], "108"),
            (.POST, "/files?filename=", [], "108"),
            (.POST, "/files?filename=%FF", [], "108"),
            (.POST, "/files?filename=cat.png", [form], "107"),
            (.POST, "/files?filename=cat.png", [("digest", "sha-256=short")], "108"),
            // The field of a record
            (
                .PUT, "/files/records/note/9/photo", [("content-type", "image/png"), ("content-length", "5")],
                "note/9 photo exists photo.png image/png 5"
            ),
            (
                .PUT, "/files/records/note/a%2Fb/photo?filename=cat.gif", [("if-match", "\"7\"")],
                "note/a/b photo revision(7) cat.gif - -"
            ),
            (.PUT, "/files/records/note/9/photo", [], "note/9 photo exists photo - -"),
            (.PUT, "/files/records/note/9/photo?filename=", [], "108"),
            (.PUT, "/files/records/note/9/photo", [("if-match", "7")], "108"),
            (.PUT, "/files/records/note/9/photo", [form], "107"),
            (.PUT, "/files/records/note/9/photo", [("digest", "sha-256=short")], "108"),
            (.PUT, "/files/records/note/9", [], "110"),
        ] as [(HTTPMethod, String, [(String, String)], String)]
    )
    func theHeadSaysWhatIsUploaded(
        method: HTTPMethod,
        uri: String,
        fields: [(String, String)],
        outcome: String
    ) {
        #expect(Self.outcome(method, uri, fields) == outcome)
    }

    // MARK: - Checksums

    private static let md5 = "1B2M2Y8AsgTpgAmY7PhCfg=="
    private static let sha256 = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
    private static let other = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

    @Test(
        arguments: [
            ([], false, false),
            ([("content-type", "image/png")], false, false),
            ([("Content-MD5", md5)], true, false),
            ([("Digest", "sha-256=\(sha256)")], false, true),
            ([("digest", "SHA-256=\(sha256), MD5=\(md5)")], true, true),
            ([("digest", "sha-512=unread,sha-256=\(sha256)")], false, true),
            ([("digest", "sha-512=unread")], false, false),
            ([("Content-Digest", "sha-256=:\(sha256):")], false, true),
            ([("repr-digest", "sha-512=:x:, sha-256=:\(sha256):;a=1")], false, true),
            ([("repr-digest", "sha-256=:\(sha256):"), ("digest", "sha-256=\(sha256)")], false, true),
        ] as [([(String, String)], Bool, Bool)]
    )
    func checksumsAreRead(fields: [(String, String)], hasMD5: Bool, hasSHA256: Bool) throws {
        let checks = try UploadChecks(HTTPHeaders(fields))
        #expect(checks.md5 == (hasMD5 ? decodeBase64(Self.md5.utf8) : nil))
        #expect(checks.sha256 == (hasSHA256 ? decodeBase64(Self.sha256.utf8) : nil))
    }

    @Test(
        arguments: [
            [("content-md5", "")], [("content-md5", "1B2M2Y8AsgTpgAmY7PhCfg")], [("content-md5", sha256)],
            [("content-md5", "d41d8cd98f00b204e9800998ecf8427e")], [("digest", "sha-256")], [("digest", "sha-256=")],
            [("digest", "sha-256=\(md5)")], [("content-digest", "sha-256=\(sha256)")],
            [("content-digest", "sha-256=:\(sha256)")], [("repr-digest", "sha-256=x:\(sha256):")],
            [("digest", "sha-256=\(sha256)"), ("repr-digest", "sha-256=:\(other):")],
        ] as [[(String, String)]]
    )
    func aChecksumThatIsNotOneIsRefused(fields: [(String, String)]) {
        #expect { try UploadChecks(HTTPHeaders(fields)) } throws: { error in
            (error as? SkyrowError)?.code == .invalidArgument
        }
    }

    // MARK: - Forms

    /// The file of a form, or the code of its refusal.
    private static func file(_ events: [MultipartReader.Event]) -> String {
        var form = UploadForm()
        var bytes: [UInt8] = []
        do throws(SkyrowError) {
            for event in events { bytes += try form.receive(event) ?? [] }
        } catch {
            return "\(error.code.rawValue)"
        }
        return form.hasFile ? "\(form.contentType ?? "-") \(String(decoding: bytes, as: UTF8.self))" : "none"
    }

    private static func part(_ name: String, _ text: String..., type: String? = nil) -> [MultipartReader.Event] {
        [.part(name: name, filename: nil, contentType: type)] + text.map { .bytes(Array($0.utf8)) } + [.endOfPart]
    }

    @Test func thePartFileIsTheFile() {
        let long = String(repeating: "x", count: UploadForm.maximumIgnored)
        let rows: [([MultipartReader.Event], String)] = [
            (Self.part("file", "a", "b", type: "image/png") + [.end], "image/png ab"),
            (Self.part("key", "v") + Self.part("file", "a") + Self.part("k", "v") + [.end], "- a"),
            (Self.part("file") + [.end], "- "),
            (Self.part("key", "file") + [.end], "none"),
            (Self.part("File", "a") + [.end], "none"),
            ([.end], "none"),
            (Self.part("file", "a") + Self.part("file", "b"), "107"),
            // What is ignored is bounded, in one part or in several.
            (Self.part("a", long) + Self.part("file", "a") + [.end], "- a"),
            (Self.part("a", long) + Self.part("b", "x"), "107"),
            (Self.part("file", long, long) + [.end], "- \(long)\(long)"),
        ]
        for (events, file) in rows { #expect(Self.file(events) == file) }
    }

    // MARK: - Queries

    @Test(
        arguments: [
            ("/files/x", "- - - false"),
            ("/files/x?", "- - - false"),
            ("/files/x?download=1", "- - - true"),
            ("/files/x?download=0", "- - - false"),
            ("/files/x?expiredAt=1&signature=s&download=1", "1/s - - true"),
            ("/files/x?expiredAt=1", "1/ - - false"),
            ("/files/x?signature=s", "/s - - false"),
            ("/files/x?application=shop", "- shop - false"),
            ("/files/x?application=%2e%2e", "- - - false"),
            ("/files?filename=a%20b", "- - a b false"),
            ("/files/x?a=%", "108"),
            ("/files/x?" + String(repeating: "a=1&", count: 21), "108"),
        ]
    )
    func theQueryIsRead(uri: String, expected: String) {
        let text: String
        do throws(SkyrowError) {
            let query = try FileQuery(of: uri)
            let signature = query.signature.map { "\($0.expiredAt)/\($0.signature)" } ?? "-"
            let application = query.application?.rawValue ?? "-"
            text = "\(signature) \(application) \(query.filename ?? "-") \(query.forcesDownload)"
        } catch {
            text = "\(error.code.rawValue)"
        }
        #expect(text == expected)
    }
}
