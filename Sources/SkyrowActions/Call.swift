package import SkyrowModel
package import SkyrowProtocol
package import SkyrowStore

/// A call of an action: who calls, from where, and what the call holds.
package struct Call: Sendable {
    package let caller: Caller
    /// Whom the audit log names.
    let actor: AuditEvent.Actor
    package let credentials: Credentials
    package let client: ClientKey
    private let makeOrigin: @Sendable () -> RequestOrigin
    /// The admission of the call as a read; nil for a write and for the master key.
    package let turn: ReadTurn?
    /// The subscriptions of the connection; nil for a connection that cannot have any.
    package let live: LiveSession?
    /// The WebSocket or event stream of the call; nil for an ordinary request.
    package let connection: (any CallConnection)?
    /// The rules that the parameters were read by, and so the envelope of the response.
    package let rules: ReadingRules
    /// When the request ends; nil for a call without a bound on its time.
    package let deadline: ContinuousClock.Instant?
    /// How many functions have called each other up to this call; 0 for a call by a client.
    let functionDepth: Int

    package init(
        by caller: Caller,
        with credentials: Credentials = Credentials(),
        client: ClientKey = .none,
        from origin: @autoclosure @escaping @Sendable () -> RequestOrigin = RequestOrigin(),
        turn: ReadTurn? = nil,
        live: LiveSession? = nil,
        on connection: (any CallConnection)? = nil,
        rules: ReadingRules = .rpc,
        deadline: ContinuousClock.Instant? = nil,
        functionDepth: Int = 0,
        as actor: AuditEvent.Actor? = nil
    ) {
        self.caller = caller
        self.actor = actor ?? AuditEvent.Actor(caller)
        self.credentials = credentials
        self.client = client
        makeOrigin = origin
        self.turn = turn
        self.live = live
        self.connection = connection
        self.rules = rules
        self.deadline = deadline
        self.functionDepth = functionDepth
    }

    /// Where the call comes from; made when it is asked for, since most calls need it only for a failure.
    package var origin: RequestOrigin { makeOrigin() }

    /// A call by the operator at a terminal of the machine, who has the rights of the master key.
    ///
    /// - Parameter user: the user on whose behalf the operator acts.
    package init(byOperatorFor user: UserID? = nil) {
        self.init(by: Caller(kind: .master(actingAs: user)), as: .operator)
    }

    /// The subscriptions of the connection; throws `111 NotSupported` where it cannot have any.
    var openSession: LiveSession {
        get throws(SkyrowError) {
            guard let live else { throw .liveNeedsConnection }
            return live
        }
    }

    /// The hash of the token of the caller's own session; nil without one, as for the master key in the name of a user.
    var sessionHash: [UInt8]? { credentials.ownToken(of: caller).map { TokenHash(of: $0).bytes } }

    /// The event by which the audit log names the call.
    ///
    /// - Parameter key: the key that the event is about.
    func audit(_ kind: AuditEvent.Kind, of key: KeyID? = nil) -> AuditEvent {
        AuditEvent(kind, by: actor, from: origin, key: key)
    }
}

/// The connection on which calls are made, and whose caller may change.
package protocol CallConnection: AnyObject, Sendable {
    /// Sets the caller of the connection and its credentials from now on.
    ///
    /// Throws `131 RateLimited` when the user has too many connections, or `111 NotSupported` when the head of the request has
    /// determined the caller for good.
    func authenticate(as caller: Caller, with credentials: Credentials, of service: ActionService) throws(SkyrowError)
}
