import NIOHTTP1
import SkyrowModel
import Testing

@testable import SkyrowHTTP

/// What a request for a file gets, by its head alone.
@Suite struct DownloadHeadTests {
    private static let tag = "\"7b0e2a7c-7135-4912-a6c9-7c1dbec0f5ef\""
    private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"
    private static let asset = StoredAsset(
        name: AssetName(id: "7b0e2a7c-7135-4912-a6c9-7c1dbec0f5ef", filename: "a.png"),
        filename: "a.png",
        contentType: "image/png",
        size: 1000,
        state: .stored,
        owner: nil,
        // A part of a second, which the field cannot say.
        storedAt: Timestamp(microseconds: 784_111_777_999_999 - Timestamp.unixEpochOffset)
    )

    private static func decision(_ method: HTTPMethod, _ fields: [(String, String)]) -> DownloadHead {
        let head = HTTPRequestHead(version: .http1_1, method: method, uri: "/", headers: HTTPHeaders(fields))
        return DownloadHead(head, for: asset, size: 1000)
    }

    @Test(
        arguments: [
            ([], .whole),
            // Every form of RFC 9110, 14.1.2
            ([("range", "bytes=0-99")], .part(0..<100)),
            ([("range", "bytes=100-100")], .part(100..<101)),
            ([("range", "bytes=900-")], .part(900..<1000)),
            ([("range", "bytes=-100")], .part(900..<1000)),
            ([("range", "bytes=-5000")], .part(0..<1000)),
            ([("range", "bytes=0-5000")], .part(0..<1000)),
            ([("range", "bytes=999-")], .part(999..<1000)),
            ([("range", "bytes=1000-")], .unsatisfiable),
            ([("range", "bytes=-0")], .unsatisfiable),
            ([("range", "bytes=0-1,5-6")], .whole),
            ([("range", "bytes=0-1"), ("range", "bytes=5-6")], .whole),
            ([("range", "bytes=5-1")], .whole),
            ([("range", "bytes=x-1")], .whole),
            ([("range", "lines=0-1")], .whole),
            // Copies that a client has
            ([("if-none-match", tag)], .unchanged),
            ([("if-none-match", "W/\(tag)")], .unchanged),
            ([("if-none-match", "\"other\", \(tag)")], .unchanged),
            ([("if-none-match", "\"other\""), ("if-none-match", tag)], .unchanged),
            ([("if-none-match", "*")], .unchanged),
            ([("if-none-match", "\"other\"")], .whole),
            ([("if-modified-since", date)], .unchanged),
            ([("if-modified-since", "Sun, 06 Nov 1994 08:49:38 GMT")], .unchanged),
            ([("if-modified-since", "Sun, 06 Nov 1994 08:49:36 GMT")], .whole),
            ([("if-modified-since", "yesterday")], .whole),
            // A tag is more exact than a date.
            ([("if-none-match", "\"other\""), ("if-modified-since", date)], .whole),
            ([("if-none-match", tag), ("range", "bytes=0-9")], .unchanged),
            ([("if-none-match", "\"other\""), ("range", "bytes=0-9")], .part(0..<10)),
            // The file that a client expects, before anything else
            ([("if-match", tag)], .whole),
            ([("if-match", "\"other\", \(tag)")], .whole),
            ([("if-match", "*"), ("range", "bytes=0-9")], .part(0..<10)),
            ([("if-match", "\"other\"")], .changed),
            ([("if-match", "W/\(tag)")], .changed),
            ([("if-match", "\"other\""), ("if-none-match", tag)], .changed),
            ([("if-match", "\"other\""), ("range", "bytes=5000-")], .changed),
            ([("if-match", tag), ("if-none-match", tag)], .unchanged),
            ([("if-unmodified-since", date)], .whole),
            ([("if-unmodified-since", date), ("range", "bytes=0-9")], .part(0..<10)),
            ([("if-unmodified-since", "Sun, 06 Nov 1994 08:49:36 GMT")], .changed),
            ([("if-unmodified-since", "yesterday")], .whole),
            ([("if-match", tag), ("if-unmodified-since", "Sun, 06 Nov 1994 08:49:36 GMT")], .whole),
            // Parts of the copy that a client has
            ([("if-range", tag), ("range", "bytes=0-9")], .part(0..<10)),
            ([("if-range", date), ("range", "bytes=0-9")], .part(0..<10)),
            ([("if-range", "W/\(tag)"), ("range", "bytes=0-9")], .whole),
            ([("if-range", "\"other\""), ("range", "bytes=0-9")], .whole),
            ([("if-range", "Sun, 06 Nov 1994 08:49:38 GMT"), ("range", "bytes=0-9")], .whole),
            ([("if-range", "\"other\""), ("range", "bytes=5000-")], .whole),
        ] as [([(String, String)], DownloadHead.Selection)]
    )
    func theFieldsOfARequestSelectWhatIsSent(fields: [(String, String)], selection: DownloadHead.Selection) {
        #expect(Self.decision(.GET, fields).selection == selection)
        // HEAD has no ranges.
        let expected: DownloadHead.Selection = [.unchanged, .changed].contains(selection) ? selection : .whole
        #expect(Self.decision(.HEAD, fields).selection == expected)
    }

    @Test(
        arguments: [
            ("", 200, nil), ("bytes=0-99", 206, "bytes 0-99/1000"), ("bytes=999-", 206, "bytes 999-999/1000"),
            ("bytes=1000-", 416, "bytes */1000"),
        ] as [(String, UInt, String?)]
    )
    func aResponseSaysWhichPartItIs(range: String, status: UInt, contentRange: String?) {
        let decision = Self.decision(.GET, range.isEmpty ? [] : [("range", range)])
        #expect(decision.status.code == status)
        let fields = Dictionary(uniqueKeysWithValues: decision.fields.map { ($0.name, $0.value) })
        #expect(fields["content-range"] == contentRange)
        #expect(fields["accept-ranges"] == "bytes")
        #expect(fields["etag"] == Self.tag)
        #expect(fields["last-modified"] == Self.date)
    }

    @Test(arguments: [Timestamp.infinity, .negativeInfinity, Timestamp(microseconds: .max - 1)])
    func aTimeThatIsNoDateIsNotSent(time: Timestamp) {
        var asset = Self.asset
        asset.storedAt = time
        let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/")
        #expect(DownloadHead(head, for: asset, size: 1).fields.map(\.name) == ["accept-ranges", "etag"])
    }

    /// A copy of the file is none of its thumbnail.
    @Test func aThumbnailHasAnotherTag() {
        let tag = "\"7b0e2a7c-7135-4912-a6c9-7c1dbec0f5ef-400x400f\""
        for (given, status) in [(Self.tag, 200), (tag, 304)] as [(String, UInt)] {
            let fields = HTTPHeaders([("if-none-match", given)])
            let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/", headers: fields)
            let decision = DownloadHead(head, for: Self.asset, .fit(width: 400, height: 400), size: 100)
            #expect(decision.status.code == status)
            #expect(decision.fields.first { $0.name == "etag" }?.value == tag)
        }
    }

    @Test func anUnchangedFileIsNotSent() {
        let decision = Self.decision(.GET, [("if-none-match", Self.tag)])
        #expect(decision.status == .notModified)
        #expect(decision.fields.map(\.name) == ["accept-ranges", "etag", "last-modified"])
    }
}
