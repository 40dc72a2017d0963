import Foundation
import Testing

@testable import SkyrowClient

/// Downloads against the requests that each sends and what is on the disk afterwards.
@Suite struct DownloadTests {
    private static let text = "A cat that is 36 bytes of a picture."

    private let text = DownloadTests.text
    private let name: AssetName
    private let directory: ScratchDirectory

    init() throws {
        name = try #require(AssetName("\(FileTransport.id)-cat.png"))
        directory = try ScratchDirectory()
    }

    private var destination: URL { directory.url.appendingPathComponent("cat.png") }
    private var part: String { "\(name).part" }

    /// The ranges of the requests, and their conditions.
    private func ranges(_ scripted: FileClient) -> [String] {
        scripted.transport.downloads.map { download in
            (download.headers["Range"] ?? "") + (download.headers["If-Range"].map { " if \($0)" } ?? "")
        }
    }

    // MARK: To disk

    @Test func aFileIsRequestedWithCredentialsAndReplacesAnother() async throws {
        let scripted = FileClient([.file(text)])
        _ = try directory.file("cat.png", "an older and much longer picture of a cat")
        let progress = scripted.progress
        try await scripted.client.download(Asset(name), to: destination) { progress.note($0) }
        #expect(try directory.text("cat.png") == text)
        #expect(try directory.names == ["cat.png"])
        let download = try #require(scripted.transport.downloads.first)
        #expect(download.url.absoluteString == "http://service.example/base/files/\(name)")
        #expect(
            download.headers.lines == [
                "Accept-Encoding: identity", "X-Skygear-API-Key: key", "Authorization: Bearer t",
                "Range: bytes=0-16777215",
            ]
        )
        #expect(progress.all.map(\.completed) == [10, 20, 30, 36])
        #expect(progress.all.allSatisfy { $0.total == 36 })
        #expect(scripted.transport.isAtItsEnd)
    }

    @Test func itContinuesBehindWhatHasArrived() async throws {
        let scripted = FileClient([.file(text, breaksAfter: 15), .lost, .file(text, breaksAfter: 3), .file(text)])
        try await scripted.client.download(Asset(name), to: destination)
        #expect(try directory.text("cat.png") == text)
        #expect(
            ranges(scripted) == [
                "bytes=0-16777215", "bytes=15-16777230 if \(FileTransport.tag)",
                "bytes=15-16777230 if \(FileTransport.tag)", "bytes=18-16777233 if \(FileTransport.tag)",
            ]
        )
        #expect(scripted.pauses == 3)
    }

    @Test func itContinuesWhatAnEarlierProcessBegan() async throws {
        let lost = FileClient(Array(repeating: .file(text, breaksAfter: 2), count: 4))
        let error = await #expect(throws: ClientError.self) {
            try await lost.client.download(Asset(name), to: destination)
        }
        #expect(error?.code == .noResponse)
        #expect(try directory.names == [part])
        #expect(try directory.text(part) == String(text.prefix(8)))
        let scripted = FileClient([.file(text)])
        try await scripted.client.download(Asset(name), to: destination)
        #expect(ranges(scripted) == ["bytes=8-16777223 if \(FileTransport.tag)"])
        #expect(try directory.text("cat.png") == text)
        #expect(try directory.names == ["cat.png"])
    }

    struct Earlier: Sendable {
        /// What is in the partial file.
        var part: String
        var line: FileTransport.Line
        /// The requests that are needed.
        var requests: Int
    }

    @Test(arguments: [
        // The service has other bytes under the name, and sends the whole file.
        Earlier(part: "Another picture", line: .file(text, tag: "\"other\""), requests: 1),
        // A proxy has removed the range.
        Earlier(part: "A cat", line: .file(text, ignoresRange: true), requests: 1),
        // Only the end of the process was missing.
        Earlier(part: text, line: .file(text), requests: 1),
        // The file is shorter than its part.
        Earlier(part: text + text, line: .file(text), requests: 2),
    ])
    func aPartOfAnotherFileIsReplaced(earlier: Earlier) async throws {
        let scripted = FileClient([earlier.line, earlier.line])
        _ = try directory.file(part, earlier.part)
        try await scripted.client.download(Asset(name), to: destination)
        #expect(try directory.text("cat.png") == text)
        #expect(try directory.names == ["cat.png"])
        #expect(scripted.transport.downloads.count == earlier.requests)
    }

    struct Refusal: Sendable {
        var line: FileTransport.Line
        var code: ClientError.Code
        var serverCode: Int?
    }

    @Test(arguments: [
        Refusal(line: .error(110, "ResourceNotFound", status: 404), code: .refused, serverCode: 110),
        Refusal(line: .error(111, "NotSupported", status: 501), code: .refused, serverCode: 111),
        Refusal(line: .response("<html>", status: 404), code: .invalidResponse),
        Refusal(line: .response("", status: 416), code: .invalidResponse),
        Refusal(line: .response("", status: 200), code: .invalidResponse),
        Refusal(line: .response("", status: 302), code: .invalidResponse),
        // Other bytes than those that were requested
        Refusal(
            line: .response("abc", status: 206, headers: [(name: "content-range", value: "bytes 5-7/36")]),
            code: .invalidResponse
        ),
        Refusal(line: .response("abc", status: 206), code: .invalidResponse),
        // More bytes than there are
        Refusal(
            line: .response("abc", status: 206, headers: [(name: "content-range", value: "bytes 0-1/2")]),
            code: .invalidResponse
        ),
        Refusal(line: .lost, code: .noResponse),
    ])
    func aRefusalLeavesNothingBehind(refusal: Refusal) async throws {
        let scripted = FileClient(Array(repeating: refusal.line, count: 4))
        let error = await #expect(throws: ClientError.self) {
            try await scripted.client.download(Asset(name), to: destination)
        }
        #expect(error?.code == refusal.code)
        #expect(error?.serverCode?.rawValue == refusal.serverCode)
        #expect(try directory.names.isEmpty)
        #expect(scripted.transport.downloads.count == (refusal.code == .noResponse ? 4 : 1))
    }

    @Test func aFileIsDownloadedToADirectoryOnce() async throws {
        let scripted = FileClient([.file(text)])
        do {
            let first = try PartialFile(of: name, for: destination)
            try first.append(Data("A".utf8))
            let busy = await #expect(throws: ClientError.self) {
                try await scripted.client.download(Asset(name), to: destination)
            }
            #expect(busy?.code == .localFile)
            first.close()
        }
        try await scripted.client.download(Asset(name), to: destination)
        #expect(try directory.text("cat.png") == text)
    }

    @Test func aDirectoryThatIsNotThereIsNamedBeforeAnythingIsSent() async throws {
        let scripted = FileClient([])
        let error = await #expect(throws: ClientError.self) {
            let missing = directory.url.appendingPathComponent("missing").appendingPathComponent("cat.png")
            try await scripted.client.download(Asset(name), to: missing)
        }
        #expect(error?.code == .localFile)
        #expect(scripted.transport.downloads.isEmpty)
    }

    @Test func aPartIsNoLink() async throws {
        let scripted = FileClient([.file(text)])
        let other = try directory.file("other", "untouched")
        let link = directory.url.appendingPathComponent(part)
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: other)
        await #expect(throws: ClientError.self) { try await scripted.client.download(Asset(name), to: destination) }
        #expect(try directory.text("other") == "untouched")
    }

    // MARK: By a signed address

    private let signed = "https://cdn.example/files/x?expiredAt=1&signature=s"

    @Test func aSignedAddressGetsNoCredentials() async throws {
        let scripted = FileClient([.file(text)])
        let data = try await scripted.client.download(Asset(name, url: signed))
        #expect(String(decoding: data, as: UTF8.self) == text)
        let download = try #require(scripted.transport.downloads.first)
        #expect(download.url.absoluteString == signed)
        #expect(download.headers.lines == ["Accept-Encoding: identity", "Range: bytes=0-16777215"])
    }

    @Test(arguments: [
        [FileTransport.Line.error(102, "PermissionDenied", status: 403)],
        [.error(106, "InvalidSignature", status: 401)],
        [.response("<Error>", status: 403)],
        [.lost, .lost, .lost, .lost],
    ])
    func theServiceIsAskedWhereASignedAddressFails(lines: [FileTransport.Line]) async throws {
        let scripted = FileClient(lines + [.file(text)])
        let data = try await scripted.client.download(Asset(name, url: signed))
        #expect(String(decoding: data, as: UTF8.self) == text)
        let last = try #require(scripted.transport.downloads.last)
        #expect(last.url.absoluteString == "http://service.example/base/files/\(name)")
        #expect(last.headers["Authorization"] == "Bearer t")
        #expect(scripted.client.session != nil)
    }

    @Test(arguments: ["", "file:///etc/hosts", "data:text/plain,x", "not an address"])
    func otherAddressesAreNotUsed(url: String) async throws {
        let scripted = FileClient([.file(text)])
        _ = try await scripted.client.download(Asset(name, url: url))
        #expect(scripted.transport.downloads.map(\.url.host) == ["service.example"])
    }

    // MARK: In memory

    @Test(arguments: [
        (Int64(0)..<Int64(5), "A cat", "bytes=0-4"),
        (Int64(6)..<Int64(10), "that", "bytes=6-9"),
        (Int64(28)..<Int64(100), "picture.", "bytes=28-99"),
    ])
    func aRangeIsRequestedAsSuch(range: Range<Int64>, text: String, field: String) async throws {
        let scripted = FileClient([.file(self.text)])
        let data = try await scripted.client.download(Asset(name), range: range)
        #expect(String(decoding: data, as: UTF8.self) == text)
        #expect(ranges(scripted) == [field])
    }

    @Test func aRangeContinuesToo() async throws {
        let scripted = FileClient([.file(text, breaksAfter: 2), .file(text)])
        let progress = scripted.progress
        let data = try await scripted.client.download(Asset(name), range: 6..<13) { progress.note($0) }
        #expect(String(decoding: data, as: UTF8.self) == "that is")
        #expect(ranges(scripted) == ["bytes=6-12", "bytes=8-12 if \(FileTransport.tag)"])
        #expect(progress.all == [FileProgress(completed: 2, total: 7), FileProgress(completed: 7, total: 7)])
    }

    @Test(arguments: [
        (Int64(50)..<Int64(60), FileTransport.Line.file("short")),
        // The whole file in place of a range
        (Int64(2)..<Int64(4), .file("short", ignoresRange: true)),
    ])
    func aRangeThatIsNotThereIsRefused(range: Range<Int64>, line: FileTransport.Line) async throws {
        let scripted = FileClient([line])
        let error = await #expect(throws: ClientError.self) {
            try await scripted.client.download(Asset(name), range: range)
        }
        #expect(error?.code == .invalidResponse)
    }

    @Test func nothingIsRequestedForAnEmptyRange() async throws {
        let scripted = FileClient([])
        #expect(try await scripted.client.download(Asset(name), range: 3..<3).isEmpty)
        #expect(scripted.transport.downloads.isEmpty)
    }

    @Test func memoryIsBounded() async throws {
        let scripted = FileClient([.file(text), .file(text)])
        #expect(try await scripted.client.download(Asset(name), atMost: 36).count == 36)
        let error = await #expect(throws: ClientError.self) {
            try await scripted.client.download(Asset(name), atMost: 35)
        }
        #expect(error?.code == .tooLarge)
    }
}

/// The plan of a download by itself.
@Suite struct DownloadPlanTests {
    private let name: AssetName

    init() throws {
        name = try #require(AssetName("\(FileTransport.id)-film.mp4"))
    }

    private func head(_ first: Int64, _ last: Int64, _ size: Int64, tag: String = "\"b\"") -> TransportResponse {
        TransportResponse(
            status: 206,
            headers: [(name: "Content-Range", value: "bytes \(first)-\(last)/\(size)"), (name: "ETag", value: tag)],
            body: []
        )
    }

    @Test func aLargeFileIsRequestedInParts() throws {
        let (size, most) = (Int64(40 << 20), DownloadPlan.maximumPart)
        var plan = DownloadPlan(of: name)
        var requested: [String] = []
        while !plan.isComplete {
            let first = plan.position
            requested.append(plan.nextRequest().lines.joined(separator: ", "))
            let head = head(first, min(first + most, size) - 1, size)
            while plan.position < min(first + most, size) {
                let earlier = try plan.receive(1 << 20, head)
                #expect(earlier == .stay)
            }
            let end = try plan.finish(head)
            #expect(end == .stay)
        }
        // The tag of the response counts from then on.
        #expect(
            requested == [
                "Range: bytes=0-16777215", "Range: bytes=16777216-33554431, If-Range: \"b\"",
                "Range: bytes=33554432-50331647, If-Range: \"b\"",
            ]
        )
        #expect(plan.progress == FileProgress(completed: size, total: size))
    }

    @Test func aFileThatChangesItsSizeIsNotOneFile() throws {
        var plan = DownloadPlan(of: name)
        _ = plan.nextRequest()
        _ = try plan.receive(10, head(0, 9, 30))
        _ = plan.nextRequest()
        let error = #expect(throws: ClientError.self) { try plan.receive(10, head(10, 19, 31)) }
        #expect(error?.code == .invalidResponse)
    }

    @Test func aPartThatIsRefusedTwiceIsAnError() throws {
        var plan = DownloadPlan(of: name, received: 10)
        let refused = TransportResponse(status: 416, headers: [(name: "Content-Range", value: "bytes */5")], body: [])
        _ = plan.nextRequest()
        let first = try plan.finish(refused)
        #expect(first == .go)
        #expect(plan.position == 0 && !plan.isComplete)
        _ = plan.nextRequest()
        #expect(throws: ClientError.self) { try plan.finish(refused) }
    }

    @Test func aResponseWithoutLengthEndsWithTheFile() throws {
        var plan = DownloadPlan(of: name, received: 4)
        let whole = TransportResponse(status: 200, headers: [], body: [])
        _ = plan.nextRequest()
        let earlier = try plan.receive(7, whole)
        #expect(earlier == .go)
        #expect(plan.progress == nil && !plan.isComplete)
        _ = try plan.finish(whole)
        #expect(plan.isComplete && plan.progress == FileProgress(completed: 7, total: 7))
    }

    @Test(arguments: [
        ("bytes 0-9/30", 0 as Int64?, 30 as Int64?), ("bytes 10-29/30", 10, 30), ("bytes */30", nil, 30),
        ("bytes 0-9/*", nil, nil),
        ("0-9/30", nil, nil), ("bytes 0-9/-1", nil, nil), ("", nil, nil),
    ])
    func contentRangesAreRead(field: String, first: Int64?, size: Int64?) {
        let response = TransportResponse(status: 206, headers: [(name: "content-range", value: field)], body: [])
        let range = ContentRange(response)
        #expect(range?.size == size)
        if size != nil { #expect(range?.first == first) }
    }
}
