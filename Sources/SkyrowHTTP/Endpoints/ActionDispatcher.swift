import SkyrowActions
import SkyrowJSON
import SkyrowModel
import SkyrowProtocol

/// Runs an action's call from either endpoint, and returns its result.
///
/// `prepare` does everything that needs the request's bytes; `perform` does everything that waits.
struct ActionDispatcher: Sendable {
    let service: ActionService
    /// Why every call is refused, because of its application; nil when calls are accepted.
    private let refusal: SkyrowError?

    init(service: ActionService, refusal: SkyrowError? = nil) {
        self.service = service
        self.refusal = refusal
    }

    /// The sender of a call, as its request claims.
    struct Sender: Sendable {
        var credentials: Credentials
        var client: ClientKey
        var address: ClientAddress?
        var userAgent: String?

        func origin(of request: RequestID) -> RequestOrigin {
            RequestOrigin(address: address?.description, userAgent: userAgent, requestID: request.description)
        }
    }

    /// A call that no longer needs the request's bytes.
    struct PreparedCall: Sendable {
        let description: ActionDescription
        let sender: Sender
        /// The caller, or the error that refuses it; nil inside when only the database can tell.
        let caller: Result<Caller?, SkyrowError>
        let call: Result<ActionCall, SkyrowError>

        var action: ActionName { description.name }
    }

    /// The outcome of a call.
    enum Outcome: Sendable {
        case succeeded(ActionResult)
        /// The credentials were not sufficient.
        case refused(SkyrowError)
        case failed(SkyrowError)

        var error: SkyrowError? {
            switch self {
            case .succeeded: nil
            case .refused(let error), .failed(let error): error
            }
        }
    }

    /// - Parameter envelope: Which parameters are allowed besides those of the action; nil ignores unknown ones.
    func prepare(
        _ action: ActionName,
        from sender: Sender,
        parameters: JSONView,
        rules: ReadingRules,
        in envelope: KnownParameters.Envelope?
    ) -> PreparedCall {
        let description = ActionCatalog[action]
        let credentials = sender.credentials
        let caller = Result { () throws(SkyrowError) in
            let caller = Result { () throws(SkyrowError) in
                if let refusal { throw refusal }
                return try service.cachedCaller(credentials, for: description.requirement, action)
            }
            // Calls with wrong credentials count, too.
            try service.admit(action, from: sender.client, by: (try? caller.get()) ?? nil)
            return try caller.get()
        }
        // A refused call is not decoded.
        if case .failure(let error) = caller {
            return PreparedCall(description: description, sender: sender, caller: caller, call: .failure(error))
        }
        let call = Result { () throws(SkyrowError) in
            if let envelope { try KnownParameters.of(action).check(parameters, in: envelope) }
            return try ActionCall(action, parameters: parameters, rules: rules)
        }
        return PreparedCall(description: description, sender: sender, caller: caller, call: call)
    }

    /// Returns the caller of a connection's credentials; throws what a call with them would.
    func authenticate(_ sender: Sender, id: RequestID) async throws(SkyrowError) -> Caller {
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
    func admit(_ sender: Sender) throws(SkyrowError) {
        try service.admit(sender.credentials, from: sender.client)
    }

    /// Returns the outcome of the call, and its user if known.
    ///
    /// - Parameter live: The subscriptions of the connection; nil when it cannot have any.
    func perform(
        _ call: PreparedCall,
        live: LiveSession? = nil,
        context: RequestContext
    ) async -> (Outcome, UserID?) {
        var context = context
        context.action = call.action
        return await ResponseAccount.$current.withValue(context.account) {
            await RequestTrace.$current.withValue(context) { await performInContext(call, live, context: context) }
        }
    }

    /// Waits for the admission of the client's read, if the call is one; the master key needs none.
    private func performInContext(
        _ call: PreparedCall,
        _ live: LiveSession?,
        context: RequestContext
    ) async -> (Outcome, UserID?) {
        guard call.description.cost == .read, case .success(let known) = call.caller, known?.isOperator != true else {
            return await authenticateAndRun(call, nil, live, context: context)
        }
        let turn = ReadTurn(of: call.sender.client, in: service.reads)
        do throws(SkyrowError) {
            try await turn.enter()
        } catch {
            return (.failed(error.reported(as: context.id)), known?.userID)
        }
        defer { turn.leave() }
        return await authenticateAndRun(call, turn, live, context: context)
    }

    private func authenticateAndRun(
        _ call: PreparedCall,
        _ turn: ReadTurn?,
        _ live: LiveSession?,
        context: RequestContext
    ) async -> (Outcome, UserID?) {
        let id = context.id
        let caller: Caller
        var sender = call.sender
        switch call.caller {
        case .success(let settled?):
            caller = settled
        case .success(nil):
            do throws(SkyrowError) {
                caller = try await service.authenticate(
                    call.sender.credentials,
                    for: call.description.requirement,
                    call.action
                )
                try service.admit(caller)
            } catch {
                noteRefusedKey(error, sender, id)
                return (.refused(error.reported(as: id)), nil)
            }
            if context.takesRenewedToken,
                let token = await service.renewToken(of: sender.credentials, by: caller, for: call.action)
            {
                sender.credentials.accessToken = token
                context.renewedToken.token = token
            }
        case .failure(let error):
            service.noteRefusal(error)
            noteRefusedKey(error, sender, id)
            return (.refused(error.reported(as: id)), nil)
        }
        do throws(SkyrowError) {
            try await service.requireStepUp(
                for: call.description,
                isAsked: (try? call.call.get())?.takesStepUp ?? false,
                by: caller,
                with: sender.credentials
            )
        } catch {
            service.noteRefusal(error)
            return (.refused(error.reported(as: id)), caller.userID)
        }
        do throws(SkyrowError) {
            let action = try call.call.get()
            let result = try await action(
                service,
                ActionCall.Context(
                    caller: caller,
                    sender: sender,
                    requestID: id,
                    turn: turn,
                    live: live,
                    connection: context.connection
                )
            )
            return (.succeeded(result), caller.userID)
        } catch {
            return (.failed(error.reported(as: id).about(call.action, limit: context.account.limit)), caller.userID)
        }
    }

    private func noteRefusedKey(_ error: SkyrowError, _ sender: Sender, _ id: RequestID) {
        guard error.code == .accessKeyNotAccepted else { return }
        service.auditRefusedKey(sender.credentials, from: sender.origin(of: id))
    }
}

extension SkyrowError {
    /// The error as it is sent: a cancelled request becomes a timeout, and an
    /// unexpected error gets the request's id for its log line.
    fileprivate func reported(as id: RequestID) -> SkyrowError {
        // Only the connection cancels a request, when its time is up or its client is gone. An indeterminate commit is the more
        // important information.
        if Task.isCancelled, code != .outcomeUnknown { return .responseTimedOut }
        return withRequestID(id)
    }

    func withRequestID(_ id: RequestID) -> SkyrowError {
        guard code == .unexpectedError else { return self }
        var error = self
        error.info["request_id"] = .string(id.description)
        return error
    }
}
