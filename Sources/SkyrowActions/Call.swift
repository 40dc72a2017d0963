package import SkyrowModel
import SkyrowStore

/// A call of an action: who calls, from where, and what the call holds.
package struct Call: Sendable {
    package let caller: Caller
    package let credentials: Credentials
    package let client: ClientKey
    package let origin: RequestOrigin
    /// The admission of the call as a read; nil for a write and for the master key.
    package let turn: ReadTurn?
    /// The subscriptions of the connection; nil for a connection that cannot have any.
    package let live: LiveSession?

    package init(
        by caller: Caller,
        with credentials: Credentials = Credentials(),
        client: ClientKey = .none,
        from origin: RequestOrigin = RequestOrigin(),
        turn: ReadTurn? = nil,
        live: LiveSession? = nil
    ) {
        self.caller = caller
        self.credentials = credentials
        self.client = client
        self.origin = origin
        self.turn = turn
        self.live = live
    }

    /// The event by which the audit log names the call.
    func audit(_ kind: AuditEvent.Kind) -> AuditEvent {
        AuditEvent(kind, by: AuditEvent.Actor(caller), from: origin)
    }
}
