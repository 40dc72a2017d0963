package import SkyrowJSON
package import SkyrowModel
package import SkyrowProtocol

/// Runs the calls of requests in one application, whichever envelope and transport they come by.
///
/// ```swift
/// let call = runner.prepare(entry, from: sender, parameters: json, rules: .rpc, in: .rpc)
/// let outcome = await runner.run(call, id: id)
/// ```
///
/// ``prepare(_:from:parameters:rules:in:)`` does everything that needs the bytes of the request, ``run(_:live:on:deadline:id:)``
/// everything that waits.
package struct ActionRunner: Sendable {
    package let service: ActionService
    /// Why every call is refused, because of its application; nil when calls are accepted.
    private let refusal: SkyrowError?

    package init(service: ActionService, refusal: SkyrowError? = nil) {
        self.service = service
        self.refusal = refusal
    }

    /// Authenticates and admits a call, and reads its parameters; ``run(_:live:on:deadline:id:)`` reports what fails.
    ///
    /// - Parameter envelope: which parameters are allowed besides those of the action; nil ignores unknown ones.
    package func prepare(
        _ entry: any AnyEntry,
        from sender: Sender,
        parameters: JSONView,
        rules: ReadingRules,
        in envelope: KnownParameters.Envelope?
    ) -> PreparedCall {
        let description = entry.description
        let caller = admitted(sender, for: description)
        let action = Result { () throws(SkyrowError) in
            // The parameters of a refused call are not read.
            _ = try caller.get()
            if let envelope { try entry.knownParameters.check(parameters, in: envelope) }
            return try entry.read(parameters, rules: rules)
        }
        return PreparedCall(description: description, sender: sender, rules: rules, caller: caller, action: action)
    }

    /// Counts a call, and returns its caller if that is known without the database.
    private func admitted(_ sender: Sender, for action: ActionDescription) -> Result<Caller?, SkyrowError> {
        Result { () throws(SkyrowError) in
            let caller = Result { () throws(SkyrowError) in
                if let refusal { throw refusal }
                return try service.cachedCaller(sender.credentials, for: action)
            }
            // Calls with wrong credentials count, too.
            try service.admit(action, from: sender.client, by: (try? caller.get()) ?? nil)
            return try caller.get()
        }
    }

    /// Counts a call and returns its caller; throws why the credentials are not sufficient, which is observed.
    func caller(of sender: Sender, for action: ActionDescription, id: RequestID) async throws(SkyrowError) -> Caller {
        do throws(SkyrowError) {
            return try await caller(admitted(sender, for: action), sender, for: action)
        } catch {
            noteRefusedKey(error, sender, id)
            throw error
        }
    }

    /// Returns the caller of a connection's credentials; throws what a call with them would.
    package func authenticate(_ sender: Sender, id: RequestID) async throws(SkyrowError) -> Caller {
        do throws(SkyrowError) {
            if let refusal { throw refusal }
            let caller = try await service.authenticate(sender.credentials, for: .keyOrToken)
            try service.admit(caller)
            return caller
        } catch {
            noteRefusedKey(error, sender, id)
            throw error.reported(as: id)
        }
    }

    /// Counts a request that names no action against the rate limit; throws `131 RateLimited` above it.
    package func admit(_ sender: Sender) throws(SkyrowError) {
        try service.admit(sender.credentials, from: sender.client)
    }

    /// Returns how a call ends.
    ///
    /// - Parameters:
    ///   - live: the subscriptions of the connection; nil when it cannot have any.
    ///   - connection: the WebSocket or event stream of the call; nil for an ordinary request, whose response can renew a token.
    ///   - deadline: when the request ends; nil if functions do not depend on it.
    package func run(
        _ call: PreparedCall,
        live: LiveSession? = nil,
        on connection: (any CallConnection)? = nil,
        deadline: ContinuousClock.Instant? = nil,
        id: RequestID
    ) async -> CallOutcome {
        // A read of a client waits for its admission; the master key's does not.
        guard call.description.cost == .read, case .success(let known) = call.caller, known?.isOperator != true else {
            return await run(call, nil, live, connection, deadline, id)
        }
        let turn = ReadTurn(of: call.sender.client, in: service.reads)
        do throws(SkyrowError) {
            try await turn.enter()
        } catch {
            return CallOutcome(.failure(error.reported(as: id)), of: known?.userID)
        }
        defer { turn.leave() }
        return await run(call, turn, live, connection, deadline, id)
    }

    private func run(
        _ call: PreparedCall,
        _ turn: ReadTurn?,
        _ live: LiveSession?,
        _ connection: (any CallConnection)?,
        _ deadline: ContinuousClock.Instant?,
        _ id: RequestID
    ) async -> CallOutcome {
        let caller: Caller
        do throws(SkyrowError) {
            caller = try await self.caller(call.caller, call.sender, for: call.description)
        } catch {
            noteRefusedKey(error, call.sender, id)
            return CallOutcome(.failure(error.reported(as: id)), isRefused: true)
        }
        var credentials = call.sender.credentials
        var renewedToken: String?
        if call.needsSession, connection == nil {
            renewedToken = await service.renewToken(of: credentials, by: caller, for: call.description)
            if let renewedToken { credentials.accessToken = renewedToken }
        }
        do throws(SkyrowError) {
            try await service.requireStepUp(
                for: call.description,
                isAsked: (try? call.action.get())?.takesStepUp ?? false,
                by: caller,
                with: credentials
            )
        } catch {
            service.noteRefusal(error)
            let error = error.reported(as: id)
            return CallOutcome(.failure(error), isRefused: true, of: caller.userID, renewedToken: renewedToken)
        }
        if service.lacksLinks { await service.prepareFiles() }
        do throws(SkyrowError) {
            let result = try await call.action.get().perform(
                service,
                Call(
                    by: caller,
                    with: credentials,
                    client: call.sender.client,
                    from: call.sender.origin(of: id),
                    turn: turn,
                    live: live,
                    on: connection,
                    rules: call.rules,
                    deadline: deadline,
                    functionDepth: service.callToken(of: credentials)?.depth ?? 0
                )
            )
            return CallOutcome(.success(result), of: caller.userID, renewedToken: renewedToken)
        } catch {
            return CallOutcome(.failure(error.reported(as: id)), of: caller.userID, renewedToken: renewedToken)
        }
    }

    /// Returns the caller; throws why the credentials are not sufficient, which is observed.
    private func caller(
        _ known: Result<Caller?, SkyrowError>,
        _ sender: Sender,
        for action: ActionDescription
    ) async throws(SkyrowError) -> Caller {
        switch known {
        case .success(let caller?): return caller
        case .success(nil):
            let caller = try await service.authenticate(sender.credentials, for: action)
            try service.admit(caller)
            return caller
        case .failure(let error):
            service.noteRefusal(error)
            throw error
        }
    }

    private func noteRefusedKey(_ error: SkyrowError, _ sender: Sender, _ id: RequestID) {
        guard error.code == .accessKeyNotAccepted else { return }
        service.auditRefusedKey(sender.credentials, from: sender.origin(of: id))
    }
}

/// The sender of a call, as its request claims.
package struct Sender: Sendable {
    package var credentials: Credentials
    package var client: ClientKey
    package var address: ClientAddress?
    package var userAgent: String?

    package init(credentials: Credentials, client: ClientKey, address: ClientAddress? = nil, userAgent: String? = nil) {
        self.credentials = credentials
        self.client = client
        self.address = address
        self.userAgent = userAgent
    }

    package func origin(of request: RequestID) -> RequestOrigin {
        RequestOrigin(address: address?.description, userAgent: userAgent, requestID: request.description)
    }
}

/// A call that no longer needs the bytes of its request.
///
/// A class, since many frames of a request hold it.
package final class PreparedCall: Sendable {
    package let description: ActionDescription
    let sender: Sender
    let rules: ReadingRules
    /// The caller, or the error that refuses it; nil inside when only the database can tell.
    let caller: Result<Caller?, SkyrowError>
    let action: Result<PreparedAction, SkyrowError>

    package var name: ActionName { description.name }

    var needsSession: Bool { if case .success(nil) = caller { true } else { false } }

    init(
        description: ActionDescription,
        sender: Sender,
        rules: ReadingRules,
        caller: Result<Caller?, SkyrowError>,
        action: Result<PreparedAction, SkyrowError>
    ) {
        self.description = description
        self.sender = sender
        self.rules = rules
        self.caller = caller
        self.action = action
    }
}

/// How a call ended.
package struct CallOutcome: Sendable {
    package var result: Result<ResultWriter, SkyrowError>
    /// Whether the credentials were not sufficient.
    package let isRefused: Bool
    /// The user of the caller, if known.
    package let userID: UserID?
    /// The access token that replaces the one of the request's session.
    package let renewedToken: String?

    package var error: SkyrowError? { if case .failure(let error) = result { error } else { nil } }

    package init(
        _ result: Result<ResultWriter, SkyrowError>,
        isRefused: Bool = false,
        of userID: UserID? = nil,
        renewedToken: String? = nil
    ) {
        self.result = result
        self.isRefused = isRefused
        self.userID = userID
        self.renewedToken = renewedToken
    }
}

extension SkyrowError {
    package static let responseTimedOut = SkyrowError(
        .responseTimeout,
        "The request timed out; it may or may not have been performed."
    )

    /// The error as it is sent: a cancelled request becomes a timeout, and an unexpected error gets the request's id for its log
    /// line.
    func reported(as id: RequestID) -> SkyrowError {
        // Only the connection cancels a request, when its time is up or its client is gone. An indeterminate commit is the more
        // important information.
        if Task.isCancelled, code != .outcomeUnknown { return .responseTimedOut }
        return withRequestID(id.description)
    }
}
