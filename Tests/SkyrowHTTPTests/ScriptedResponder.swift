import NIOCore
import NIOHTTP1
import SkyrowHTTP
import SkyrowProtocol
import Synchronization

/// Answers by path: what a test of the server itself needs.
///
/// - `/echo`: the body
/// - `/wait`: `done`, once the gate is open; `cancelled` when it is cancelled before
/// - `/deaf`: `done`, once the gate is open, cancelled or not
/// - `/big`: 4 MB
/// - anything else: method and path
final class ScriptedResponder: HTTPResponder {
    let gate = Gate<Void>("the test to let the response go")
    /// Open when a `/wait`, `/deaf` or `/big` is being worked on.
    let waiting = Gate<Void>("a request to be worked on")
    /// Open when a `/wait` was cancelled.
    let cancelled = Gate<Void>("a request to be cancelled")
    /// Open after a thousand requests.
    let busy = Gate<Void>("a thousand requests")
    private let count = Atomic<Int>(0)

    /// How many requests came so far.
    var requests: Int { count.load(ordering: .relaxed) }

    func respond(to request: HTTPRequest) async -> HTTPResponse {
        if count.add(1, ordering: .relaxed).newValue == 1000 { busy.open() }
        switch request.head.uri {
        case "/echo":
            return HTTPResponse(status: .ok, contentType: .plainText, body: request.body.bytes)
        case "/wait":
            waiting.open()
            let ended = Gate<String>("the end of the request")
            return await withTaskCancellationHandler {
                async let _: Void = {
                    try? await gate.value()
                    ended.open("done")
                }()
                let text = (try? await ended.value()) ?? "forgotten"
                if text == "cancelled" { gate.open() }
                return HTTPResponse(status: .ok, contentType: .plainText, body: ByteBuffer(string: text))
            } onCancel: {
                cancelled.open()
                ended.open("cancelled")
            }
        case "/deaf":
            waiting.open()
            try? await gate.value()
            return HTTPResponse(status: .ok, contentType: .plainText, body: ByteBuffer(string: "done"))
        case "/big":
            waiting.open()
            return HTTPResponse(status: .ok, contentType: .plainText, body: ByteBuffer(repeating: 66, count: 4 << 20))
        default:
            let text = "\(request.head.method.rawValue) \(request.head.uri)"
            return HTTPResponse(status: .ok, contentType: .plainText, body: ByteBuffer(string: text))
        }
    }

    /// As the header `standing` says; accepted without one.
    func standing(of head: HTTPRequestHead) -> RequestStanding {
        switch head.headers["standing"].first {
        case "missing": .missing
        case "unverified": .unverified
        default: .accepted
        }
    }

    func refuse(_ fault: HTTPFault, head: HTTPRequestHead?, id: RequestID, peer: Client) -> HTTPResponse {
        HTTPResponse(status: fault.status, contentType: .plainText, body: ByteBuffer(string: "\(fault)"))
    }
}
