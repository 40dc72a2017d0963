/// The destination of a request, by its path only.
enum Route: Hashable {
    /// `/rpc`: JSON-RPC 2.0
    case rpc
    /// `/live`: an event stream of one live query
    case live
    /// `/healthz`: whether the process is alive
    case health
    /// `/readyz`: whether the database is available
    case readiness
    /// `/metrics`: metrics for Prometheus
    case metrics
    /// A page to which links in mails lead
    case accountPage(AccountPage)
    /// The page to which an identity provider redirects users; the name of the provider.
    case providerReturn(String)
    /// `/files` and the paths below it; what follows `/files/`, not decoded.
    case files(Substring)
    /// A path that is reserved in Skygear or here for something other than an action, and is not served.
    case unserved
    /// Every other path belongs to the Skygear v1 envelope; without its leading slash.
    case skygear(path: Substring)

    /// Whether requests are traced: those for actions and files are; frequent probes and scrapes would be noise.
    var isTraced: Bool {
        switch self {
        case .rpc, .live, .files, .skygear: true
        case .health, .readiness, .metrics, .accountPage, .providerReturn, .unserved: false
        }
    }

    init(uri: String) {
        // The usual form, which needs no parsing.
        if uri == "/rpc" {
            self = .rpc
            return
        }
        let path = Route.path(of: uri)
        switch path {
        case "/rpc": self = .rpc
        case "/live": self = .live
        case "/healthz": self = .health
        case "/readyz": self = .readiness
        case "/metrics": self = .metrics
        case "/files": self = .files("")
        case "/pubsub", "/_/pubsub", "/console": self = .unserved
        default:
            if path.hasPrefix("/auth/"), let page = AccountPage(rawValue: String(path)) {
                self = .accountPage(page)
            } else if path.hasPrefix(ProviderReturnPage.prefix) {
                self = .providerReturn(String(path.dropFirst(ProviderReturnPage.prefix.count)))
            } else if path.hasPrefix("/files/") {
                self = .files(path.dropFirst("/files/".count))
            } else if path.hasPrefix("/console/") {
                self = .unserved
            } else {
                self = .skygear(path: path.hasPrefix("/") ? path.dropFirst() : path)
            }
        }
    }

    /// The path of a request's target, without query and fragment.
    static func path(of uri: String) -> Substring {
        // Bytes, since characters take some microseconds for the name of a file.
        let end = uri.utf8.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? uri.endIndex
        let path = uri[..<end]
        // The absolute form, `http://host/path`, which clients send to proxies.
        guard !path.hasPrefix("/"), let scheme = path.firstRange(of: "://") else { return path }
        let rest = path[scheme.upperBound...]
        return rest.firstIndex(of: "/").map { rest[$0...] } ?? ""
    }
}
