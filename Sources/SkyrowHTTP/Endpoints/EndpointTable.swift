/// The endpoints of additional path prefixes.
struct EndpointTable: Sendable {
    private let entries: [(prefix: String, endpoint: any HTTPEndpoint)]

    /// - Parameter endpoints: By the prefix of their paths; the longest matching prefix wins.
    init(_ endpoints: [String: any HTTPEndpoint]) {
        entries = endpoints.sorted { $0.key.utf8.count > $1.key.utf8.count }.map {
            (prefix: $0.key, endpoint: $0.value)
        }
    }

    subscript(uri: String) -> (any HTTPEndpoint)? {
        guard !entries.isEmpty else { return nil }
        let path = Route.path(of: uri)
        return entries.first { path.utf8.starts(with: $0.prefix.utf8) }?.endpoint
    }
}
