import CLibcurl

/// libcurl, loaded once per process on first use.
enum Libcurl {
    /// Why libcurl is unusable; nil if it is usable.
    static let fault = skyrow_curl_load().map { String(cString: $0) }

    static func text(_ code: CURLcode) -> String {
        skyrow_curl_text(code).map { String(cString: $0) } ?? "error \(code.rawValue)"
    }
}
