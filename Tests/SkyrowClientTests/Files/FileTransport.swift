import Foundation
import Synchronization

@testable import SkyrowClient

/// Answers uploads and downloads from a script, and calls from another, and keeps what was sent.
final class FileTransport: Transport {
    enum Line: Sendable {
        case response(String, status: Int = 200, headers: [(name: String, value: String)] = [])
        /// A stored file, of which the requested part is sent in chunks of 10 bytes.
        ///
        /// - Parameters:
        ///   - breaksAfter: The connection breaks after as many bytes.
        ///   - ignoresRange: Whether the whole file is sent in any case, without its length.
        case file(String, tag: String = FileTransport.tag, breaksAfter: Int? = nil, ignoresRange: Bool = false)
        case lost
    }

    static let id = "7b0e2a7c-7135-4912-a6c9-7c1dbec0f5ef"
    static let tag = "\"\(id)\""

    private struct State {
        var lines: [Line]
        var uploads: [TransportUpload] = []
        var downloads: [TransportDownload] = []
    }

    let calls: ScriptedTransport
    private let state: Mutex<State>

    init(_ lines: [Line], calls: [ScriptedTransport.Line] = []) {
        self.calls = ScriptedTransport(calls)
        state = Mutex(State(lines: lines))
    }

    var uploads: [TransportUpload] { state.withLock(\.uploads) }
    var downloads: [TransportDownload] { state.withLock(\.downloads) }
    var isAtItsEnd: Bool { state.withLock { $0.lines.isEmpty } && calls.isAtItsEnd }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        try await calls.send(request)
    }

    func upload(_ upload: TransportUpload) async throws -> TransportResponse {
        let line = state.withLock { state in
            state.uploads.append(upload)
            return state.lines.isEmpty ? nil : state.lines.removeFirst()
        }
        let size = try upload.content.size()
        upload.progress(size / 2)
        guard case .response(let text, let status, let headers)? = line else { throw ScriptedTransport.Lost() }
        upload.progress(size)
        return TransportResponse(status: status, headers: headers, body: Array(text.utf8))
    }

    func download(_ download: TransportDownload) async throws -> TransportResponse {
        let line = state.withLock { state in
            state.downloads.append(download)
            return state.lines.isEmpty ? nil : state.lines.removeFirst()
        }
        switch line {
        case .response(let text, let status, let headers):
            let head = TransportResponse(status: status, headers: headers, body: [])
            guard [200, 206].contains(status) else {
                return TransportResponse(status: status, headers: headers, body: Array(text.utf8))
            }
            try download.receive(head, Data(text.utf8))
            return head
        case .file(let text, let tag, let breaksAfter, let ignoresRange):
            let file = Data(text.utf8)
            let head = FileTransport.head(of: file, tag, ignoresRange ? [] : download.headers)
            let part = head.status == 206 ? file[FileTransport.range(download.headers, file)] : file
            guard head.status != 416 else { return head }
            let sent = part.prefix(breaksAfter ?? part.count)
            for start in stride(from: sent.startIndex, to: sent.endIndex, by: 10) {
                try download.receive(head, Data(sent[start..<min(start + 10, sent.endIndex)]))
            }
            if breaksAfter != nil { throw ScriptedTransport.Lost() }
            return head
        case .lost, nil: throw ScriptedTransport.Lost()
        }
    }

    /// What a service responds for a file, after RFC 9110.
    private static func head(
        of file: Data,
        _ tag: String,
        _ headers: [(name: String, value: String)]
    ) -> TransportResponse {
        let condition = headers.first { $0.name == "If-Range" }?.value
        guard headers.contains(where: { $0.name == "Range" }), condition == nil || condition == tag else {
            let length = headers.isEmpty ? [] : [(name: "content-length", value: "\(file.count)")]
            return TransportResponse(status: 200, headers: length + [(name: "etag", value: tag)], body: [])
        }
        let range = Self.range(headers, file)
        let field =
            range.isEmpty ? "bytes */\(file.count)" : "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(file.count)"
        return TransportResponse(
            status: range.isEmpty ? 416 : 206,
            headers: [(name: "Content-Range", value: field), (name: "ETag", value: tag)],
            body: []
        )
    }

    private static func range(_ headers: [(name: String, value: String)], _ file: Data) -> Range<Int> {
        let field = headers.first { $0.name == "Range" }?.value ?? ""
        let ends = field.dropFirst("bytes=".count).split(separator: "-").compactMap { Int($0) }
        guard ends.count == 2, ends[0] < file.count else { return 0..<0 }
        return ends[0]..<min(ends[1] + 1, file.count)
    }
}

extension FileTransport.Line {
    /// The response to an upload.
    static let uploaded = FileTransport.Line.response(
        #"""
        {"result":{"$type":"asset","$name":"\#(FileTransport.id)-cat.png","$content_type":"image/png","$size":3,\#
        "$url":"http://service.example/base/files/x?expiredAt=1&signature=s"}}
        """#,
        status: 201
    )

    static func error(_ code: Int, _ name: String, status: Int, info: String = "{}") -> FileTransport.Line {
        .response(
            #"{"error":{"name":"\#(name)","code":\#(code),"message":"No.","info":\#(info)}}"#,
            status: status
        )
    }
}

/// A client with scripts behind it that notes its pauses instead of making them.
struct FileClient {
    let transport: FileTransport
    let client: SkyrowClient
    let sessions: MemorySessionStorage
    private let noted = Noted<Duration>()
    let progress = Noted<FileProgress>()

    /// What was noted, in its order.
    final class Noted<Value: Sendable>: Sendable {
        private let list = Mutex<[Value]>([])

        var all: [Value] { list.withLock { $0 } }
        func note(_ value: Value) { list.withLock { $0.append(value) } }
    }

    init(
        _ lines: [FileTransport.Line],
        calls: [ScriptedTransport.Line] = [],
        session: Session? = Session(userID: "ann", accessToken: "t")
    ) {
        transport = FileTransport(lines, calls: calls)
        sessions = MemorySessionStorage(session)
        let noted = noted
        client = SkyrowClient(
            endpoint: URL(string: "http://service.example/base")!,
            apiKey: "key",
            transport: transport,
            sessions: sessions,
            retryPolicy: RetryPolicy(),
            pause: { noted.note($0) }
        )
    }

    var pauses: Int { noted.all.count }
}

/// A directory that is deleted at the end.
final class ScratchDirectory: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
    }

    deinit {
        try? FileManager.default.removeItem(at: url)
    }

    /// Writes a file and returns where it is.
    func file(_ name: String, _ text: String) throws -> URL {
        let file = url.appendingPathComponent(name)
        try Data(text.utf8).write(to: file)
        return file
    }

    func text(_ name: String) throws -> String {
        try String(contentsOf: url.appendingPathComponent(name), encoding: .utf8)
    }

    var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: url.path).sorted() }
    }
}

extension [(name: String, value: String)] {
    /// The fields as lines, in their order.
    var lines: [String] { map { "\($0.name): \($0.value)" } }

    subscript(_ name: String) -> String? { first { $0.name == name }?.value }
}
