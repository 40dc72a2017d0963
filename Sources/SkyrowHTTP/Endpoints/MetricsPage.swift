import NIOCore
import NIOHTTP1
package import SkyrowActions
import SkyrowModel
import SkyrowProtocol

/// The page at `/metrics`, and who may read it.
///
/// The metrics show how a service is used, how it fails and what runs on its machine, and producing them costs more than most
/// requests. They are therefore not public unless an operator decides so.
package struct MetricsPage: Sendable {
    package enum Access: Sendable {
        /// Every client that can connect.
        case everybody
        /// Clients with this key, which has no other use, or with the master key.
        case keyHolders(Secret?)
    }

    private let access: Access
    private let text: @Sendable () -> String

    /// - Parameter text: Produces the metrics in the text format of Prometheus.
    package init(access: Access, text: @escaping @Sendable () -> String) {
        self.access = access
        self.text = text
    }

    /// Handles `GET /metrics`.
    func respond(headers: RequestHeaders, isMasterKey: (String) -> Bool) async -> RequestOutcome {
        if let error = refusal(headers, isMasterKey: isMasterKey) {
            var outcome = RequestOutcome.failure(error, in: .v1, status: error.code.httpStatus, .metrics)
            outcome.response.fields.append(HTTPField("www-authenticate", "Bearer"))
            return outcome
        }
        // Not on the event loop, where it would block other requests.
        let text = text
        let page = await Task(executorPreference: globalConcurrentExecutor) { text() }.value
        let response = HTTPResponse(status: .ok, contentType: .prometheus, body: ByteBuffer(string: page))
        return RequestOutcome(response, .metrics)
    }

    private func refusal(_ headers: RequestHeaders, isMasterKey: (String) -> Bool) -> SkyrowError? {
        switch access {
        case .everybody:
            return nil
        case .keyHolders(let key):
            let candidates = [headers.accessToken, headers.key].compactMap(\.self)
            guard !candidates.isEmpty else {
                return SkyrowError(.notAuthenticated, "Send the metrics key or the master key as a bearer token.")
            }
            let isKnown = candidates.contains { key?.matches($0) == true || isMasterKey($0) }
            return isKnown ? nil : SkyrowError(.accessKeyNotAccepted, "This key does not give access to the metrics.")
        }
    }
}
