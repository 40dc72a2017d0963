import SkyrowActions
import SkyrowModel
import SkyrowProtocol

/// What a request is about, as a small set of names for logs and metrics.
enum RequestSubject: Hashable, Sendable {
    case action(ActionName)
    /// A JSON-RPC batch.
    case batch
    case discover
    /// The response of the v1 envelope to a request without an action, or of the home page.
    case home
    /// `/healthz` and `/readyz`
    case health
    case metrics
    case preflight
    /// A page to which links in mails lead, or its resources.
    case page
    /// A file that is sent to the service.
    case upload
    /// A file that the service sends.
    case download
    /// An unreadable body, or one that names an unknown action, whose name is not repeated.
    case unknown
    /// The handshake of a WebSocket.
    case webSocket
    case eventStream
    /// A request refused at the HTTP level: its path, method, size or time.
    case http

    /// All subjects, in the order of their `ordinal`.
    static let all: [RequestSubject] =
        ActionTable.all.map { .action($0.description.name) }
        + [
            .batch, .discover, .home, .health, .metrics, .preflight, .unknown, .http, .page, .webSocket, .eventStream,
            .upload, .download,
        ]

    var ordinal: Int {
        let count = ActionTable.all.count
        return switch self {
        case .action(let name): ActionTable.ordinal(of: name)
        case .batch: count
        case .discover: count + 1
        case .home: count + 2
        case .health: count + 3
        case .metrics: count + 4
        case .preflight: count + 5
        case .unknown: count + 6
        case .http: count + 7
        case .page: count + 8
        case .webSocket: count + 9
        case .eventStream: count + 10
        case .upload: count + 11
        case .download: count + 12
        }
    }

    var name: String {
        switch self {
        case .action(let name): name.rawValue
        case .batch: "rpc.batch"
        case .discover: "rpc.discover"
        case .home: "home"
        case .health: "health"
        case .metrics: "metrics"
        case .preflight: "preflight"
        case .unknown: "unknown"
        case .http: "http"
        case .page: "page"
        case .webSocket: "websocket"
        case .eventStream: "event_stream"
        case .upload: "upload"
        case .download: "download"
        }
    }
}
