/// Which web pages may call the service from a browser.
///
/// Access tokens are sent in headers and never in cookies, so a page gains nothing by calling from another user's browser. Any
/// origin may therefore call by default, without the browser's own credentials.
package enum CORSPolicy: Hashable, Sendable {
    /// No page of another origin.
    case off
    /// Every page, without cookies or client certificates.
    case anyOrigin
    /// The pages of these origins, such as `https://app.example`, with the browser's credentials.
    case origins(Set<String>)

    /// The fields of every response to a request from this origin.
    func fields(origin: String?) -> [HTTPField] {
        switch self {
        case .off:
            return []
        case .anyOrigin:
            guard origin != nil else { return [] }
            return [HTTPField("access-control-allow-origin", "*"), CORSPolicy.exposed]
        case .origins(let origins):
            // Responses differ by origin, so caches must keep them apart.
            let vary = HTTPField("vary", "origin")
            guard let origin, origins.contains(origin) else { return [vary] }
            return [
                vary,
                HTTPField("access-control-allow-origin", origin),
                HTTPField("access-control-allow-credentials", "true"),
                CORSPolicy.exposed,
            ]
        }
    }

    /// The fields of a response to a request whose head was not read, so that its page can see the reason: when any origin may
    /// call, or exactly one.
    var fieldsOfUnreadHead: [HTTPField] {
        switch self {
        case .off: []
        case .anyOrigin: fields(origin: "*")
        case .origins(let origins):
            // The `vary` field is already among the fields.
            origins.count == 1 ? Array(fields(origin: origins.first).dropFirst()) : []
        }
    }

    /// The additional fields of a response to a preflight request.
    func preflightFields(_ headers: RequestHeaders) -> [HTTPField] {
        let isAllowed =
            switch self {
            case .off: false
            case .anyOrigin: headers.origin != nil
            case .origins(let origins): headers.origin.map(origins.contains) ?? false
            }
        guard isAllowed else { return [] }
        return [
            HTTPField("access-control-allow-methods", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"),
            // Echoed, as Skygear does: SDKs send additional headers.
            HTTPField("access-control-allow-headers", headers.requestedHeaders ?? CORSPolicy.usualHeaders),
            HTTPField("access-control-max-age", "7200"),
        ]
    }

    private static let exposed = HTTPField(
        "access-control-expose-headers",
        """
        X-Skygear-Request-Id, X-Skyrow-Access-Token, Retry-After, Traceresponse, Accept-Ranges, Content-Disposition, \
        Content-Range, ETag, Location, Tus-Resumable, Tus-Version, Tus-Extension, Tus-Max-Size, \
        Tus-Checksum-Algorithm, Upload-Offset, Upload-Length, Upload-Metadata, Upload-Expires, X-Skyrow-Asset
        """
    )
    private static let usualHeaders = """
        Authorization, Content-Digest, Content-MD5, Content-Type, Digest, If-Range, Range, Repr-Digest, Traceparent, \
        Tus-Resumable, Upload-Checksum, Upload-Length, Upload-Metadata, Upload-Offset, X-Request-Id, X-Skygear-API-Key, X-Skygear-Access-Token, X-Skygear-SDK-Version
        """
}
