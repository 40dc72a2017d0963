import CLibcurl

/// libcurl, which is loaded once in the life of the process, when something first needs it.
enum Libcurl {
    /// What is wrong with it; nil when it can be used.
    static let fault = skyrow_curl_load().map { String(cString: $0) }

    static func text(_ code: CURLcode) -> String {
        skyrow_curl_text(code).map { String(cString: $0) } ?? "error \(code.rawValue)"
    }
}
