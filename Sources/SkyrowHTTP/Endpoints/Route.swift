/// Where a request goes, by its path alone.
enum Route: Hashable {
    /// `/rpc`: JSON-RPC 2.0
    case rpc
    /// `/live`: an event stream of one live query
    case live
    /// `/healthz`: the process lives
    case health
    /// `/readyz`: a request would find a database
    case readiness
    /// `/metrics`: figures for Prometheus
    case metrics
    /// A page that links in mails lead to
    case accountPage(AccountPage)
    /// Where a provider sends users back to; the name of the provider.
    case providerReturn(String)
    /// A path that Skygear or we give another meaning than an action's, and that is not served.
    case unserved
    /// Everything else is the Skygear v1 envelope's; the path without its leading slash.
    case skygear(path: Substring)

    /// Whether requests go to the actions; what probes and scrapers ask for time and again would be noise in a trace.
    var isTraced: Bool {
        switch self {
        case .rpc, .live, .skygear: true
        case .health, .readiness, .metrics, .accountPage, .providerReturn, .unserved: false
        }
    }

    init(uri: String) {
        // As nearly every request has it, which has nothing to be looked for.
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
        case "/pubsub", "/_/pubsub", "/files", "/console": self = .unserved
        default:
            if path.hasPrefix("/auth/"), let page = AccountPage(rawValue: String(path)) {
                self = .accountPage(page)
            } else if path.hasPrefix(ProviderReturnPage.prefix) {
                self = .providerReturn(String(path.dropFirst(ProviderReturnPage.prefix.count)))
            } else if path.hasPrefix("/files/") || path.hasPrefix("/console/") {
                self = .unserved
            } else {
                self = .skygear(path: path.hasPrefix("/") ? path.dropFirst() : path)
            }
        }
    }

    /// The path of a request's target, without query and fragment.
    static func path(of uri: String) -> Substring {
        let path = uri.prefix { $0 != "?" && $0 != "#" }
        // The absolute form, `http://host/path`, which proxies send.
        guard !path.hasPrefix("/"), let scheme = path.firstRange(of: "://") else { return path }
        let rest = path[scheme.upperBound...]
        return rest.firstIndex(of: "/").map { rest[$0...] } ?? ""
    }
}
