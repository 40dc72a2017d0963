import Foundation
import SkyrowJSON
import SkyrowTestSupport
import Synchronization

@testable import SkyrowClient

/// Opens streams that a test speaks through, and answers calls from a script.
final class StreamingTransport: Transport, Changing {
    /// A stream that was opened.
    final class Stream: Changing {
        let changes = ChangeSignal()
        let request: TransportRequest
        fileprivate let body: AsyncThrowingStream<[UInt8], any Error>.Continuation
        private let ended = Mutex(false)

        fileprivate init(_ request: TransportRequest, _ body: AsyncThrowingStream<[UInt8], any Error>.Continuation) {
            self.request = request
            self.body = body
            body.onTermination = { [weak self] _ in
                self?.ended.withLock { $0 = true }
                self?.changes.notify()
            }
        }

        /// Whether the client has given it up, or it was ended.
        var hasEnded: Bool { ended.withLock { $0 } }

        /// Says events, each with its data.
        func say(_ events: (String, String)...) {
            for (name, data) in events { body.yield(Array("event: \(name)\ndata: \(data)\n\n".utf8)) }
        }

        func say(raw text: String) { body.yield(Array(text.utf8)) }

        func changes(_ phase: String, _ changes: String...) {
            say(("live:changes", #"{"phase":"\#(phase)","changes":[\#(changes.joined(separator: ","))]}"#))
        }

        func checkpoint(_ tokens: [String: String], ready: Bool = false) {
            let members = tokens.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\"\($0.value)\"" }.joined(
                separator: ","
            )
            say(("live:checkpoint", "{\"subscriptions\":{\(members)}\(ready ? ",\"ready\":true" : "")}"))
        }

        func reset(_ name: String, _ reason: String, _ more: String = "") {
            say(("live:reset", #"{"subscription":"\#(name)","reason":"\#(reason)"\#(more)}"#))
        }

        func end() { body.finish() }
        func fail() { body.finish(throwing: ScriptedTransport.Lost()) }

        /// The parameters of each `live:subscribe`, by the name of the subscription.
        var subscriptions: [String: String] {
            let document = try? JSONDocument(request.body)
            return document?.withRoot { root in
                var found: [String: String] = [:]
                for call in root.elements {
                    guard let parameters = call["params"], let name = parameters["subscription"]?.string else {
                        continue
                    }
                    found[name] = String(decoding: parameters.source, as: UTF8.self)
                }
                return found
            } ?? [:]
        }
    }

    /// How a stream is opened.
    enum Head: Sendable {
        case accepted
        case lost
        case response(String, status: Int)
    }

    private struct State {
        var heads: [Head]
        var streams: [Stream] = []
        var openings: [Int: @Sendable (Stream) -> Void] = [:]
    }

    let calls: ScriptedTransport
    private let state: Mutex<State>
    let changes = ChangeSignal()

    init(_ heads: [Head] = [], calls: [ScriptedTransport.Line] = []) {
        self.calls = ScriptedTransport(calls)
        state = Mutex(State(heads: heads))
    }

    var streams: [Stream] { state.withLock { $0.streams } }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        try await calls.send(request)
    }

    func stream(_ request: TransportRequest) async throws -> TransportStream {
        let (bytes, continuation) = AsyncThrowingStream.makeStream(of: [UInt8].self)
        let stream = Stream(request, continuation)
        let (head, opening) = state.withLock { state in
            state.streams.append(stream)
            let head = state.heads.isEmpty ? Head.accepted : state.heads.removeFirst()
            return (head, state.openings[state.streams.count])
        }
        changes.notify()
        opening?(stream)
        switch head {
        case .accepted:
            return TransportStream(
                status: 200,
                headers: [("content-type", "text/event-stream; charset=utf-8")],
                body: bytes
            )
        case .lost: throw ScriptedTransport.Lost()
        case .response(let text, let status):
            stream.say(raw: text)
            stream.end()
            return TransportStream(status: status, headers: [("Content-Type", "application/json")], body: bytes)
        }
    }

    /// What is said on the number-th stream, from 1, when it is opened.
    func whenOpened(_ number: Int, _ say: @escaping @Sendable (Stream) -> Void) {
        state.withLock { $0.openings[number] = say }
    }

    /// The stream that was opened as the number-th, from 1.
    func stream(_ number: Int) async throws -> Stream {
        try await waiting(until: "stream \(number) was opened", hearing: [self]) { streams.count >= number }
        return streams[number - 1]
    }
}

/// A client with streams that a test speaks through, and that notes its pauses instead of making them.
struct StreamingClient: Changing {
    let transport: StreamingTransport
    let client: SkyrowClient
    let sessions: MemorySessionStorage
    private let noted: Pauses

    private final class Pauses: Sendable {
        let list = Mutex<[Duration]>([])
        let changes = ChangeSignal()
    }

    init(
        _ heads: [StreamingTransport.Head] = [],
        calls: [ScriptedTransport.Line] = [],
        session: Session? = nil,
        silence: Duration = .seconds(3600)
    ) {
        let noted = Pauses()
        self.noted = noted
        transport = StreamingTransport(heads, calls: calls)
        sessions = MemorySessionStorage(session)
        client = SkyrowClient(
            endpoint: URL(string: "http://service.example/base")!,
            apiKey: "key",
            transport: transport,
            sessions: sessions,
            retryPolicy: RetryPolicy(),
            live: LiveStream(silence: silence),
            pause: { delay in
                try Task.checkCancellation()
                noted.list.withLock { $0.append(delay) }
                noted.changes.notify()
                await Task.yield()
            }
        )
    }

    var changes: ChangeSignal { noted.changes }

    /// The pauses, without those in which openings wait for each other.
    var pauses: [Duration] {
        noted.list.withLock { $0 }.filter { $0 != LivePauses.opening && $0 != LivePauses.leftovers }
    }
}
