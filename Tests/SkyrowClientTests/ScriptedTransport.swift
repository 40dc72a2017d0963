import Foundation
import Synchronization

@testable import SkyrowClient
@testable import SkyrowJSON

/// Answers each request with the next line of a script and keeps what was sent.
final class ScriptedTransport: Transport {
    enum Line: Sendable {
        case response(String, status: Int = 200)
        /// A result, and a token to use from now on.
        case renewing(String, token: String)
        /// The connection breaks.
        case lost
        /// The task of the call is cancelled before the line is read.
        indirect case cancelling(Line)
    }

    struct Lost: Error {}
    struct EndOfScript: Error {}

    private let state: Mutex<(lines: [Line], requests: [TransportRequest])>

    init(_ lines: [Line]) {
        state = Mutex((lines, []))
    }

    var requests: [TransportRequest] { state.withLock { $0.requests } }

    /// The bodies that were sent, as text.
    var bodies: [String] { requests.map { String(decoding: $0.body, as: UTF8.self) } }

    var isAtItsEnd: Bool { state.withLock { $0.lines.isEmpty } }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        var line = state.withLock { state in
            state.requests.append(request)
            return state.lines.isEmpty ? nil : state.lines.removeFirst()
        }
        if case .cancelling(let inner) = line {
            withUnsafeCurrentTask { $0?.cancel() }
            line = inner
        }
        switch line {
        case .response(let text, let status): return TransportResponse(status: status, body: Array(text.utf8))
        case .renewing(let json, let token):
            return TransportResponse(
                status: 200,
                headers: [(name: "x-skyrow-access-token", value: token)],
                body: Array(#"{"jsonrpc":"2.0","id":1,"result":\#(json)}"#.utf8)
            )
        case .lost, .cancelling: throw Lost()
        case nil: throw EndOfScript()
        }
    }
}

extension ScriptedTransport.Line {
    static func result(_ json: String) -> ScriptedTransport.Line {
        .response(#"{"jsonrpc":"2.0","id":1,"result":\#(json)}"#)
    }

    static func error(_ code: Int, _ name: String = "Name", info: String? = nil, status: Int = 200)
        -> ScriptedTransport.Line
    {
        let info = info.map { ",\"info\":\($0)" } ?? ""
        return .response(
            #"{"jsonrpc":"2.0","id":1,"error":{"code":\#(code),"message":"No.","data":{"name":"\#(name)"\#(info)}}}"#,
            status: status
        )
    }
}

/// A client with a script behind it that notes its pauses instead of making them.
struct ScriptedClient {
    let transport: ScriptedTransport
    let client: SkyrowClient
    let sessions: MemorySessionStorage
    private let noted: Pauses

    private final class Pauses: Sendable {
        let list = Mutex<[Duration]>([])
    }

    init(_ lines: [ScriptedTransport.Line], session: Session? = nil, retryPolicy: RetryPolicy = RetryPolicy()) {
        let noted = Pauses()
        self.noted = noted
        transport = ScriptedTransport(lines)
        sessions = MemorySessionStorage(session)
        client = SkyrowClient(
            endpoint: URL(string: "http://service.example/base")!,
            apiKey: "key",
            transport: transport,
            sessions: sessions,
            retryPolicy: retryPolicy,
            pause: { delay in noted.list.withLock { $0.append(delay) } }
        )
    }

    var pauses: [Duration] { noted.list.withLock { $0 } }

    /// The method and the parameters of a request, `auth:logout -` without any.
    func parameters(_ index: Int = 0) -> String {
        let body = transport.requests[index].body
        return
            (try? JSONDocument(body).withRoot { root in
                "\(root["method"]?.string ?? "") \(root["params"].map { String(decoding: $0.source, as: UTF8.self) } ?? "-")"
            }) ?? ""
    }
}
