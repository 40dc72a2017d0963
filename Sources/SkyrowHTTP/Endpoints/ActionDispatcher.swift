import SkyrowActions
import SkyrowModel
import SkyrowWire

/// Runs an action's call from either endpoint, and returns its result.
///
/// `prepare` does all that can be done while the request's bytes are at hand; `perform` waits for the rest.
struct ActionDispatcher: Sendable {
    let service: ActionService

    /// From whom a call comes, according to its request.
    struct Sender: Sendable {
        var credentials: Credentials
        var client: ClientKey
    }

    /// A call that needs the request's bytes no more.
    struct PreparedCall: Sendable {
        let action: ActionName
        let sender: Sender
        /// Who calls; nil inside when the database must be asked.
        let caller: Result<Caller?, SkyrowError>
        let call: Result<ActionCall, SkyrowError>
    }

    /// What became of a call.
    enum Outcome: Sendable {
        case succeeded(ActionResult)
        /// The credentials were not enough.
        case refused(SkyrowError)
        case failed(SkyrowError)

        var error: SkyrowError? {
            switch self {
            case .succeeded: nil
            case .refused(let error), .failed(let error): error
            }
        }
    }

    func prepare(
        _ action: ActionName,
        from sender: Sender,
        parameters: JSONView,
        rules: ReadingRules
    ) -> PreparedCall {
        let credentials = sender.credentials
        let caller = Result { () throws(SkyrowError) in
            let caller = Result { () throws(SkyrowError) in
                try service.cachedCaller(credentials, for: ActionCatalog[action].requirement)
            }
            // Wrong credentials count too.
            try service.admit(action, from: sender.client, by: (try? caller.get()) ?? nil)
            return try caller.get()
        }
        // Who may not call has nothing decoded for him.
        if case .failure(let error) = caller {
            return PreparedCall(action: action, sender: sender, caller: caller, call: .failure(error))
        }
        let call = Result { () throws(SkyrowError) in try ActionCall(action, parameters: parameters, rules: rules) }
        return PreparedCall(action: action, sender: sender, caller: caller, call: call)
    }

    /// Counts what names no action; throws `131 RateLimited` when it is one too many.
    func admit(_ sender: Sender) throws(SkyrowError) {
        try service.admit(sender.credentials, from: sender.client)
    }

    /// Returns what became of the call, and whose it was as far as that was found out.
    func perform(_ call: PreparedCall, context: RequestContext) async -> (Outcome, UserID?) {
        var context = context
        context.action = call.action
        return await ResponseAccount.$current.withValue(context.account) {
            await RequestTrace.$current.withValue(context) { await performInContext(call, context: context) }
        }
    }

    /// Waits for the client's turn, if the call is a read; the master key waits for none.
    private func performInContext(_ call: PreparedCall, context: RequestContext) async -> (Outcome, UserID?) {
        guard call.action.isRead, case .success(let known) = call.caller, known?.isMaster != true else {
            return await authenticateAndRun(call, context: context)
        }
        do throws(SkyrowError) {
            try await service.reads.enter(call.sender.client)
        } catch {
            return (.failed(error.reported(as: context.id)), known?.userID)
        }
        defer { service.reads.leave(call.sender.client) }
        return await authenticateAndRun(call, context: context)
    }

    private func authenticateAndRun(_ call: PreparedCall, context: RequestContext) async -> (Outcome, UserID?) {
        let id = context.id
        let caller: Caller
        switch call.caller {
        case .success(let settled?):
            caller = settled
        case .success(nil):
            do throws(SkyrowError) {
                caller = try await service.authenticate(
                    call.sender.credentials,
                    for: ActionCatalog[call.action].requirement
                )
                try service.admit(caller)
            } catch {
                return (.refused(error.reported(as: id)), nil)
            }
        case .failure(let error):
            service.noteRefusal(error)
            return (.refused(error.reported(as: id)), nil)
        }
        do throws(SkyrowError) {
            let result = try await run(call.call.get(), by: caller, sender: call.sender, id: id)
            return (.succeeded(result), caller.userID)
        } catch {
            return (.failed(error.reported(as: id).about(call.action, limit: context.account.limit)), caller.userID)
        }
    }

    private func run(
        _ call: ActionCall,
        by caller: Caller,
        sender: Sender,
        id: RequestID
    ) async throws(SkyrowError) -> ActionResult {
        switch call {
        case .saveRecords(let request):
            return ActionResult(try await service.save(request, by: caller) { encode($0, id: id) }, id: id)
        case .fetchRecords(let request):
            return .outcomes(reported(try await service.fetch(request, by: caller), as: id))
        case .queryRecords(let request):
            return .query(try await service.query(request, by: caller))
        case .deleteRecords(let request):
            return ActionResult(try await service.delete(request, by: caller) { encode($0, id: id) }, id: id)
        case .fetchSchema:
            return .schema(try await service.schema())
        case .createTypes(let request):
            return .schema(try await service.createTypes(request))
        case .renameField(let request):
            return .schema(try await service.renameField(request))
        case .deleteField(let request):
            return .schema(try await service.deleteField(request))
        case .signUp(let request):
            return .auth(try await service.signUp(request, from: sender.client))
        case .logIn(let request):
            return .auth(try await service.logIn(request, from: sender.client))
        case .logOut:
            try await service.logOut(sender.credentials)
            return .status
        case .changePassword(let request):
            return .auth(try await service.changePassword(request, by: caller, from: sender.client))
        case .setDisabled(let request):
            try await service.setDisabled(request, by: caller)
            return .status
        case .me:
            return .auth(try await service.me(by: caller, with: sender.credentials))
        case .assignRoles(let request):
            try await service.assignRoles(request, by: caller)
            return .done
        case .revokeRoles(let request):
            try await service.revokeRoles(request, by: caller)
            return .done
        case .getRoles(let users):
            return .rolesByUser(try await service.roles(of: users, by: caller))
        case .setDefaultRoles(let roles):
            return .roles(try await service.setDefaultRoles(roles))
        case .setAdminRoles(let roles):
            return .roles(try await service.setAdminRoles(roles))
        }
    }
}

extension ActionResult {
    fileprivate init(_ result: WriteResult, id: RequestID) {
        switch result {
        case .outcomes(let outcomes): self = .written(reported(outcomes, as: id))
        case .encoded(let bytes, isReplay: _): self = .encodedOutcomes(bytes)
        }
    }
}

/// The text of outcomes that is kept under an idempotency key; it is bounded like a response.
private func encode(_ outcomes: [RecordOutcome], id: RequestID) -> [UInt8] {
    let writer = JSONWriter(account: .current)
    writer.written(reported(outcomes, as: id))
    defer { writer.discard() }
    return writer.bytes
}

/// Puts the request id into every unexpected error of a batch.
private func reported(_ outcomes: [RecordOutcome], as id: RequestID) -> [RecordOutcome] {
    guard outcomes.contains(where: { $0.isUnexpected }) else { return outcomes }
    return outcomes.map { outcome in
        switch outcome {
        case .record, .deleted: outcome
        case .failure(let error, let recordID): .failure(error.withRequestID(id), id: recordID)
        }
    }
}

extension RecordOutcome {
    fileprivate var isUnexpected: Bool {
        switch self {
        case .record, .deleted: false
        case .failure(let error, _): error.code == .unexpectedError
        }
    }
}

extension SkyrowError {
    /// The error as it leaves: a cancelled request ran out of time, and an unexpected error leads to its log line.
    fileprivate func reported(as id: RequestID) -> SkyrowError {
        // Only the connection cancels a request, when its time is up or its client is gone. That a write's fate is
        // unknown says more than that.
        if Task.isCancelled, code != .outcomeUnknown { return .responseTimedOut }
        return withRequestID(id)
    }

    fileprivate func withRequestID(_ id: RequestID) -> SkyrowError {
        guard code == .unexpectedError else { return self }
        var error = self
        error.info["request_id"] = .string(id.description)
        return error
    }
}
