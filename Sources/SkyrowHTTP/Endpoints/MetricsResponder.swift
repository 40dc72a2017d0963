import NIOCore
package import NIOHTTP1
package import SkyrowActions
import SkyrowModel
package import SkyrowProtocol

/// Serves metrics and health, and no actions, on a separate address for operators.
package struct MetricsResponder: HTTPResponder {
    /// The limits of a server with this responder: requests without bodies from few clients.
    package static let limits = HTTPLimits(body: 1024, bodiesInMemory: 1 << 20, clientShare: 100, connections: 64)

    private let page: MetricsPage
    private let applications: Applications
    private let clients: ClientIdentification

    /// - Parameter clients: Determines from which clients the master key is accepted.
    package init(
        page: MetricsPage,
        applications: Applications,
        clients: ClientIdentification = ClientIdentification()
    ) {
        self.page = page
        self.applications = applications
        self.clients = clients
    }

    package func respond(to request: HTTPRequest) async -> HTTPResponse {
        let route = Route(uri: request.head.uri)
        switch route {
        case .rpc, .live, .accountPage, .providerReturn, .files, .unserved, .skygear:
            return RequestOutcome.failure(.undefinedRoute, in: .v1, status: .notFound, .http).response
        case .metrics, .health, .readiness:
            guard request.head.method == .GET || request.head.method == .HEAD else {
                return RequestOutcome.methodNotAllowed("GET, HEAD", in: .v1).response
            }
            guard route == .metrics else {
                guard route == .readiness else { return RequestOutcome.health(isHealthy: true).response }
                return RequestOutcome.readiness(isReady: applications.isReady, heldBack: applications.heldBack).response
            }
            let headers = RequestHeaders(request.head.headers)
            let client = clients.client(of: request.peer, headers: request.head.headers)
            let outcome = await page.respond(headers: headers) { key in
                clients.admitsMasterKey(client) && applications.isMasterKey(key)
            }
            return outcome.response
        }
    }

    package func standing(of head: HTTPRequestHead) -> RequestStanding { .missing }

    package func refuse(_ fault: HTTPFault, head: HTTPRequestHead?, id: RequestID, peer: Client) -> HTTPResponse {
        RequestOutcome.failure(SkyrowError(fault, limits: Self.limits), in: .v1, status: fault.status, .http).response
    }
}
