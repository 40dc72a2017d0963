package import SkyrowModel

/// The subscriptions of one connection.
///
/// ```swift
/// let session = LiveSession(of: service, outlet: connection)
/// let subscribed = try await session.subscribe(request, by: caller, with: credentials, from: client)
/// // Later, when the connection has closed:
/// session.end()
/// ```
package final class LiveSession: Sendable {
    private let service: ActionService
    private let outlet: any LiveOutlet

    package init(of service: ActionService, outlet: any LiveOutlet) {
        self.service = service
        self.outlet = outlet
    }

    /// `live:subscribe`: returns before the first message of the subscription is sent.
    ///
    /// Throws what `record:query` throws for the same parameters, `109 Duplicated` for a name in use, `120
    /// RecordQueryInvalid` for a predicate that needs other records, `124 RecordQueryDenied` for a field that is withheld
    /// from the caller, `134 InvalidToken`, `135 Overloaded` beyond a limit, and `111 NotSupported` where live queries are off.
    package func subscribe(
        _ request: LiveSubscribeRequest,
        by caller: Caller,
        with credentials: Credentials,
        from client: ClientKey
    ) async throws(SkyrowError) -> LiveSubscribed {
        throw .liveQueriesAreOff
    }

    /// `live:unsubscribe`; throws `110 ResourceNotFound` for a name that is not in use.
    package func unsubscribe(_ name: String) throws(SkyrowError) {
        throw .noSuchSubscription
    }

    /// The outlet's queue was full: it has dropped what waited, and takes nothing until ``outletCaughtUp()`` is called.
    package func outletFellBehind() {}

    /// The outlet has written all that it had: subscriptions resume from their last checkpoints.
    package func outletCaughtUp() {}

    /// The connection is gone; everything of it is given up.
    package func end() {}
}

extension SkyrowError {
    static let liveQueriesAreOff = SkyrowError(
        .notSupported,
        "This service has no live queries (its setting change-source is off)."
    )

    static let noSuchSubscription = SkyrowError(.resourceNotFound, "There is no subscription of that name.")

    /// `111` for a call that comes over a connection without live queries.
    package static let liveNeedsConnection = SkyrowError(
        .notSupported,
        "Live queries need a connection that stays open: a WebSocket at GET /rpc, or POST /rpc with the header "
            + "\"Accept: text/event-stream\"."
    )
}
