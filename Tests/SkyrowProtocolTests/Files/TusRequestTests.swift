import SkyrowModel
import Testing

@testable import SkyrowProtocol

/// What the heads of resumable uploads say.
@Suite struct TusRequestTests {
    private static let id = "7b0e2a7c-7135-4912-a6c9-7c1dbec0f5ef"
    private static let version = ("tus-resumable", "1.0.0")
    private static let type = ("content-type", "application/offset+octet-stream")

    /// A description of the request, the reason or the code of its refusal, or `-` for a method that is not allowed.
    private static func outcome(_ method: String, _ name: Substring, _ fields: [(String, String)]) -> String {
        guard let path = TusRequest.Path(name) else { return "elsewhere" }
        do throws(SkyrowError) {
            let request = try TusRequest(method: method, path) { name in
                fields.filter { $0.0 == name }.map(\.1)
            }
            switch request {
            case nil: return "- \(path.methods)"
            case .create(let length, let metadata, let checksum, let hasPart):
                let (filename, type) = (metadata.filename ?? "-", metadata.contentType ?? "-")
                return "create \(length) \(filename) \(type) \(checksum?.algorithm.rawValue ?? "-") \(hasPart)"
            case .status(let id): return "status \(id)"
            case .append(let id, let offset, let checksum):
                return "append \(id) \(offset) \(checksum?.algorithm.rawValue ?? "-")"
            case .remove(let id): return "remove \(id)"
            }
        } catch {
            return TusRefusal(error).map { "\($0.status)" } ?? "\(error.code.rawValue)"
        }
    }

    @Test(
        arguments: [
            ("POST", "tus", [version, ("upload-length", "9")], "create 9 - - - false"),
            ("POST", "tus/", [version, ("upload-length", "0"), ("upload-metadata", "")], "create 0 - - - false"),
            (
                "POST", "tus",
                [
                    version, type, ("content-length", "5"), ("upload-length", "9"),
                    ("upload-metadata", "filename Y2F0LnBuZw==,filetype aW1hZ2UvcG5n"),
                    ("upload-checksum", "sha1 qvTGHdzF6KLavt4PO0gs2a6pQ00="),
                ],
                "create 9 cat.png image/png sha1 true"
            ),
            ("POST", "tus", [version, ("content-length", "0"), ("upload-length", "9")], "create 9 - - - false"),
            // A number that does not fit exceeds every limit.
            ("POST", "tus", [version, ("upload-length", "99999999999999999999")], "create \(Int64.max) - - - false"),
            ("POST", "tus", [version], "108"),
            ("POST", "tus", [version, ("upload-length", "")], "108"),
            ("POST", "tus", [version, ("upload-length", "-1")], "108"),
            ("POST", "tus", [version, ("upload-length", "+1")], "108"),
            ("POST", "tus", [version, ("upload-length", "1"), ("upload-length", "2")], "108"),
            ("POST", "tus", [version, ("upload-length", "9"), ("upload-metadata", "a b c")], "108"),
            ("POST", "tus", [version, ("upload-length", "9"), ("upload-checksum", "crc32 AAAA")], "108"),
            ("POST", "tus", [version, ("content-length", "5"), ("upload-length", "9")], "415"),
            ("POST", "tus", [version, ("transfer-encoding", "chunked"), ("upload-length", "9")], "415"),
            (
                "POST", "tus",
                [version, ("content-type", "image/png"), ("content-length", "5"), ("upload-length", "9")],
                "415"
            ),
            ("POST", "tus", [version, ("upload-defer-length", "1")], "111"),
            ("POST", "tus", [version, ("upload-concat", "partial"), ("upload-length", "9")], "111"),
            ("POST", "tus", [version, ("x-http-method-override", "PATCH"), ("upload-length", "9")], "111"),
            ("POST", "tus", [("upload-length", "9")], "412"),
            ("POST", "tus", [("tus-resumable", "0.2.2"), ("upload-length", "9")], "412"),
            ("HEAD", "tus", [version], "- POST, OPTIONS"),
            ("PATCH", "tus/", [version], "- POST, OPTIONS"),

            ("HEAD", "tus/\(id)", [version], "status \(id)"),
            ("HEAD", "tus/\(id)", [], "412"),
            ("HEAD", "tus/cat.png", [version], "110"),
            ("HEAD", "tus/\(id)/", [version], "110"),
            ("HEAD", "tus/../\(id)", [version], "110"),
            ("HEAD", "tus/\(id.uppercased())", [version], "110"),
            ("DELETE", "tus/\(id)", [version], "remove \(id)"),
            ("DELETE", "tus/\(id)", [("tus-resumable", "2.0.0")], "412"),
            ("POST", "tus/\(id)", [version], "- HEAD, PATCH, DELETE, OPTIONS"),

            ("PATCH", "tus/\(id)", [version, type, ("upload-offset", "5")], "append \(id) 5 -"),
            (
                "PATCH", "tus/\(id)",
                [version, type, ("upload-offset", "0"), ("upload-checksum", "MD5 XUFAKrxLKna5cZ2REBfFkg==")],
                "append \(id) 0 md5"
            ),
            ("PATCH", "tus/\(id)", [version, type], "108"),
            ("PATCH", "tus/\(id)", [version, type, ("upload-offset", "x")], "108"),
            ("PATCH", "tus/\(id)", [version, ("upload-offset", "5")], "415"),
            ("PATCH", "tus/\(id)", [version, ("content-type", "image/png"), ("upload-offset", "5")], "415"),
            ("PATCH", "tus/\(id)", [version, type, type, ("upload-offset", "5")], "415"),

            ("POST", "tuskan.png", [version], "elsewhere"), ("POST", "", [version], "elsewhere"),
            ("POST", "TUS", [version], "elsewhere"),
        ] as [(String, String, [(String, String)], String)]
    )
    func aHeadSaysWhatIsWanted(_ method: String, _ name: String, _ fields: [(String, String)], _ expected: String) {
        #expect(Self.outcome(method, name[...], fields) == expected)
    }

    @Test(
        arguments: [
            ("", nil, nil), (" ", nil, nil), ("filename Y2F0LnBuZw==", "cat.png", nil),
            ("filename S8OkdHpjaGVuIDEucG5n, filetype aW1hZ2UvcG5n", "Kätzchen 1.png", "image/png"),
            ("relativePath,name Y2F0,filename Y2F0LnBuZw==", "cat.png", nil), ("is_private", nil, nil),
            ("filename", "", nil), ("Filename Y2F0LnBuZw==", nil, nil),
        ] as [(String, String?, String?)]
    )
    func metadataNameTheFile(_ text: String, _ filename: String?, _ type: String?) throws {
        let metadata = try UploadMetadata(text)
        #expect(metadata.filename == filename && metadata.contentType == type && metadata.rawValue == text)
    }

    @Test(
        arguments: [
            ",", "a,", "a b", "a YQ", "a YQ== YQ==", "a YQ==,a YQ==", "a,a", "filename /w==", "filetype /w==", "ä YQ==",
            "a YR==", "a " + String(repeating: "A", count: 4096),
        ]
    )
    func metadataThatCannotBeReadAreRefused(_ text: String) throws {
        let error = #expect(throws: SkyrowError.self) { try UploadMetadata(text) }
        #expect(error?.code == .invalidArgument && error?.info["arguments"] == .list([.string("upload-metadata")]))
    }

    @Test func aChecksumIsOfThreeAlgorithms() throws {
        #expect(TusChecksum.algorithms == "sha1,sha256,md5")
        #expect(try TusChecksum("sha1 qvTGHdzF6KLavt4PO0gs2a6pQ00=").digest.count == 20)
        #expect(try TusChecksum("SHA256 LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=").algorithm == .sha256)
        for text in [
            "", "sha1", "sha1 ", "sha1 AAAA", "sha1 XUFAKrxLKna5cZ2REBfFkg==", "sha512 AAAA",
            "md5 5d41402abc4b2a76b9719d911017c592", "md5 XUFAKrxLKna5cZ2REBfFkg== x",
        ] {
            let error = #expect(throws: SkyrowError.self) { try TusChecksum(text) }
            #expect(error?.code == .invalidArgument, "\(text)")
        }
    }

    @Test func aRefusalIsFoundInItsError() {
        for refusal in TusRefusal.allCases {
            #expect(TusRefusal(refusal.error) == refusal)
        }
        #expect(TusRefusal(SkyrowError(.conflict, "")) == nil)
        #expect(TusRefusal.allCases.map(\.status) == [409, 460, 412, 415, 423])
    }
}
