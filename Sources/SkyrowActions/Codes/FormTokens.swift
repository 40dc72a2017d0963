package import SkyrowModel
import SkyrowStore

extension ActionService {
    /// In seconds.
    private static let formLifetime: Int64 = 3600

    /// Returns a signed text that a page's form sends back, which identifies the form as one of this service.
    package func formToken(of page: String, code: String) async throws(SkyrowError) -> String {
        let seconds = secondsNow
        return "\(seconds).\(try await store.codes.keys().signature(of: [page, code, "\(seconds)"]))"
    }

    /// Returns whether the service has issued the form for this page and code within the last hour.
    package func acceptsForm(_ token: String, of page: String, code: String) async throws(SkyrowError) -> Bool {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let seconds = Int64(parts[0]) else { return false }
        let now = secondsNow
        guard seconds <= now, seconds > now - Self.formLifetime else { return false }
        return try await store.codes.keys().isSignature(String(parts[1]), of: [page, code, "\(seconds)"])
    }

    private var secondsNow: Int64 { clock.now().microseconds / 1_000_000 }
}
