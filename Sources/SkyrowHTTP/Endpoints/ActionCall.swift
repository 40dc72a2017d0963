import SkyrowActions
import SkyrowJSON
import SkyrowModel
import SkyrowProtocol

/// A call of one action with its decoded parameters, which needs the request's bytes no more.
///
/// What an action reads of a request and which method of the service performs it stand side by side here, and nowhere
/// else: a new action is one more case of the switch.
struct ActionCall: Sendable {
    /// Who calls, and how.
    struct Context: Sendable {
        let caller: Caller
        let sender: ActionDispatcher.Sender
        let requestID: RequestID
        /// The one that the call has among the reads; nil for a write and for the master key.
        var turn: ReadTurn?
        /// The subscriptions of the connection; nil where it cannot have any.
        var live: LiveSession?
        /// The WebSocket that the call came by.
        var connection: (any CallConnection)?

        var origin: RequestOrigin { sender.origin(of: requestID) }

        var call: Call {
            Call(by: caller, with: sender.credentials, client: sender.client, from: origin, turn: turn, live: live)
        }

        /// Throws `111 NotSupported` where the connection cannot have subscriptions.
        var openSession: LiveSession {
            get throws(SkyrowError) {
                guard let live else { throw .liveNeedsConnection }
                return live
            }
        }
    }

    /// Whether it takes step-up by what it asks for, besides what its action says.
    let takesStepUp: Bool
    private let perform: @Sendable (ActionService, Context) async throws(SkyrowError) -> ActionResult

    private init(
        takingStepUp takesStepUp: Bool = false,
        _ perform: @escaping @Sendable (ActionService, Context) async throws(SkyrowError) -> ActionResult
    ) {
        self.takesStepUp = takesStepUp
        self.perform = perform
    }

    /// Has the service perform the call; throws what the action throws.
    func callAsFunction(_ service: ActionService, _ context: Context) async throws(SkyrowError) -> ActionResult {
        try await perform(service, context)
    }

    /// Decodes the parameters of an action; throws what is wrong with them.
    init(_ action: ActionName, parameters: JSONView, rules: ReadingRules) throws(SkyrowError) {
        if let entry = ActionTable.entries[action] {
            let prepared = try entry.read(parameters, rules: rules)
            self.init(takingStepUp: prepared.takesStepUp) { service, context async throws(SkyrowError) in
                .value(try await prepared.perform(service, context.call))
            }
            return
        }
        switch action {
        case .recordSave:
            let request = try SaveRequest(parameters: parameters, rules: rules)
            self.init { service, context async throws(SkyrowError) in
                let id = context.requestID
                let own = context.sender.credentials
                let spelled: @Sendable ([RecordOutcome]) -> [RecordOutcome] = { outcomes in
                    rules == .v1 ? outcomes.map(\.ofSkygear) : outcomes
                }
                return ActionResult(
                    try await service.save(request, by: context.caller, with: own) { encode(spelled($0), id: id) },
                    id: id,
                    spelled
                )
            }
        case .recordFetch:
            let request = try RecordIDsRequest(parameters: parameters, isReading: true)
            self.init { service, context async throws(SkyrowError) in
                .outcomes(reported(try await service.fetch(request, by: context.caller), as: context.requestID))
            }
        case .recordQuery:
            let request = try QueryRequest(parameters: parameters, rules: rules)
            guard let mode = request.explanation else {
                self.init { service, context async throws(SkyrowError) in
                    .query(try await service.query(request, by: context.caller, turn: context.turn))
                }
                return
            }
            self.init { service, context async throws(SkyrowError) in
                .explanation(try await service.explain(request, mode, by: context.caller))
            }
        case .recordAggregate:
            let request = try AggregateRequest(parameters: parameters, rules: rules)
            guard let mode = request.explanation else {
                self.init { service, context async throws(SkyrowError) in
                    .aggregate(try await service.aggregate(request, by: context.caller, turn: context.turn))
                }
                return
            }
            self.init { service, context async throws(SkyrowError) in
                .explanation(try await service.explain(request, mode, by: context.caller))
            }
        case .recordUpdate:
            self.init(try BulkRequest(updateParameters: parameters, rules: rules), deletes: false)
        case .recordDelete:
            if let request = try BulkRequest(deleteParameters: parameters, rules: rules) {
                self.init(request, deletes: true)
                return
            }
            let request = try RecordIDsRequest(parameters: parameters)
            self.init { service, context async throws(SkyrowError) in
                let id = context.requestID
                return ActionResult(
                    try await service.delete(request, by: context.caller) { encode($0, id: id) },
                    id: id
                )
            }
        case .authSignUp:
            let request = try SignUpRequest(parameters: parameters, rules: rules)
            self.init { service, context async throws(SkyrowError) in
                .auth(
                    try await service.signUp(
                        request,
                        by: context.caller,
                        from: context.sender.client,
                        origin: context.origin
                    )
                )
            }
        case .authLogIn:
            let request = try LogInRequest(parameters: parameters)
            self.init { service, context async throws(SkyrowError) in
                .auth(try await service.logIn(request, from: context.sender.client, origin: context.origin))
            }
        case .authPassword:
            let request = try ChangePasswordRequest(parameters: parameters)
            self.init { service, context async throws(SkyrowError) in
                let sender = context.sender
                return .auth(
                    try await service.changePassword(
                        request,
                        by: context.caller,
                        with: sender.credentials,
                        from: sender.client,
                        origin: context.origin
                    )
                )
            }
        case .authRegister:
            let request = try RegisterRequest(parameters: parameters, rules: rules)
            self.init { service, context async throws(SkyrowError) in
                let sender = context.sender
                return .auth(
                    try await service.register(
                        request,
                        by: context.caller,
                        with: sender.credentials,
                        from: sender.client,
                        origin: context.origin
                    )
                )
            }
        case .authProviderLogIn:
            let request = try ProviderLogInRequest(parameters: parameters)
            self.init { service, context async throws(SkyrowError) in
                .auth(try await service.logIn(request, from: context.sender.client, origin: context.origin))
            }
        case .authProviderLink:
            let token = try ProviderToken(parameters: parameters)
            self.init { service, context async throws(SkyrowError) in
                let sender = context.sender
                try await service.linkProvider(
                    token,
                    by: context.caller,
                    with: sender.credentials,
                    from: sender.client,
                    origin: context.origin
                )
                return .status
            }
        case .authProviderUnlink:
            let provider = try ProviderToken.provider(parameters)
            self.init { service, context async throws(SkyrowError) in
                try await service.unlinkProvider(
                    provider,
                    by: context.caller,
                    with: context.sender.credentials,
                    origin: context.origin
                )
                return .status
            }
        case .authProviderList:
            self.init { service, context async throws(SkyrowError) in
                .identities(try await service.identities(by: context.caller))
            }
        case .ssoCustomTokenLogIn:
            let request = try CustomTokenRequest(parameters: parameters)
            self.init { service, context async throws(SkyrowError) in
                .auth(
                    try await service.logIn(request, from: context.sender.client, origin: context.origin) {
                        json throws(SkyrowError) in
                        guard json.isObject else { return [] }
                        return try ProfileFields.read(json, rules: rules)
                    }
                )
            }
        case .authProviderStart:
            let request = try ProviderStartRequest(parameters: parameters)
            self.init { service, context async throws(SkyrowError) in
                let sender = context.sender
                return .providerStart(
                    try await service.startProvider(request, with: sender.credentials, from: sender.client)
                )
            }
        case .authProviderFinish:
            let request = try ProviderFinishRequest(parameters: parameters)
            self.init { service, context async throws(SkyrowError) in
                .auth(
                    try await service.finishProvider(
                        request,
                        with: context.sender.credentials,
                        origin: context.origin
                    )
                )
            }
        case .authProviderToken:
            let provider = try ProviderToken.provider(parameters)
            self.init { service, context async throws(SkyrowError) in
                .providerTokens(try await service.tokens(of: provider, by: context.caller))
            }
        case .ssoOAuthLogIn:
            let request = try OAuthIdentityRequest(parameters: parameters, rules: rules)
            self.init { service, context async throws(SkyrowError) in
                .auth(try await service.logInOAuth(request, origin: context.origin))
            }
        case .ssoOAuthSignUp:
            let request = try OAuthIdentityRequest(parameters: parameters, rules: rules)
            self.init { service, context async throws(SkyrowError) in
                .auth(try await service.signUpOAuth(request, origin: context.origin))
            }
        case .ssoOAuthLink:
            let request = try OAuthIdentityRequest(parameters: parameters, linksUser: true)
            guard let user = request.user else { throw .invalidArgument("\"user_id\" is missing.", "user_id") }
            self.init { service, context async throws(SkyrowError) in
                try await service.linkOAuth(request, with: user, by: context.caller, origin: context.origin)
                return .done
            }
        case .ssoOAuthUnlink:
            let (provider, user) = try OAuthIdentityRequest.link(parameters: parameters)
            self.init { service, context async throws(SkyrowError) in
                try await service.unlinkOAuth(provider, from: user, by: context.caller, origin: context.origin)
                return .done
            }
        case .roleAssign, .roleRevoke, .roleGet, .roleDefault, .roleAdmin, .roleSave, .roleDelete, .roleAdd,
            .roleRemove, .roleMembers, .roleList, .groupAdd, .groupRemove, .groupList, .keyCreate, .keyList,
            .keyRotate, .keyRevoke, .me, .authLogOut, .authBecome, .authRotate, .authStepUp, .sessionList,
            .sessionRevoke, .liveTicket, .authLogInFactor, .authTOTPEnrol, .authTOTPConfirm, .authTOTPRemove,
            .authFactorList, .relationAdd, .relationRemove, .relationQuery, .relationRequests, .relationBlock,
            .authVerifyRequest, .authVerifyConfirm, .authResetRequest, .authResetConfirm, .authResetPassword,
            .authEmailChange, .authEmailConfirm, .authEmailUndo, .authLinkRequest, .authLinkLogIn, .authDelete,
            .userDelete, .authDisableSet, .authInvite, .authMerge, .authDefaultAccessSet, .schemaFetch,
            .schemaCreate, .schemaRename, .schemaDelete, .schemaIndexCreate, .schemaIndexDelete, .schemaIndexList,
            .schemaAccess, .schemaAccessSet, .schemaAccessGet, .schemaDefaultAccess, .schemaFieldAccessGet,
            .schemaFieldAccessUpdate, .recordTransfer:
            // These are in the table.
            throw SkyrowError(.unexpectedError, "The table of actions lacks \(action.rawValue).")
        case .connectionAuthenticate:
            // They are those of the sender by now, where they count.
            _ = try Credentials(parameters: parameters)
            self.init { service, context async throws(SkyrowError) in
                guard let connection = context.connection else {
                    throw SkyrowError(
                        .notSupported,
                        "This action authenticates a WebSocket; send the credentials of other requests with the request."
                    )
                }
                try connection.authenticate(as: context.caller, context.sender, of: service)
                return .status
            }
        case .liveSubscribe:
            let request = try LiveSubscribeRequest(parameters: parameters, rules: rules)
            self.init { _, context async throws(SkyrowError) in
                let sender = context.sender
                return .liveSubscribed(
                    try await context.openSession.subscribe(
                        request,
                        by: context.caller,
                        with: sender.credentials,
                        from: sender.client
                    )
                )
            }
        case .liveUnsubscribe:
            let name = try LiveSubscribeRequest.name(parameters: parameters)
            self.init { _, context async throws(SkyrowError) in
                try context.openSession.unsubscribe(name)
                return .status
            }
        case .liveWatch:
            let request = try LiveWatchRequest(parameters: parameters, rules: rules)
            self.init { _, context async throws(SkyrowError) in
                let sender = context.sender
                return .liveSubscribed(
                    try await context.openSession.watch(
                        request,
                        by: context.caller,
                        with: sender.credentials,
                        from: sender.client,
                        turn: context.turn
                    )
                )
            }
        case .changesFetch:
            let request = try ChangesRequest(fetchParameters: parameters, rules: rules)
            self.init { service, context async throws(SkyrowError) in
                .changes(
                    try await service.changes(
                        request,
                        by: context.caller,
                        from: context.sender.client,
                        turn: context.turn
                    )
                )
            }
        case .changesCompare:
            let request = try ChangesRequest(compareParameters: parameters, rules: rules)
            self.init { service, context async throws(SkyrowError) in
                .compared(try await service.compare(request, by: context.caller, turn: context.turn))
            }
        }
    }

    private init(_ request: BulkRequest, deletes: Bool) {
        self.init { service, context async throws(SkyrowError) in
            let result = try await service.change(request, by: context.caller, from: context.sender.client) { result in
                let writer = JSONWriter(account: .current)
                writer.bulkResult(result, deletes: deletes)
                defer { writer.discard() }
                return writer.bytes
            }
            return switch result {
            case .fresh(let result): .bulk(result, deletes: deletes)
            case .encoded(let bytes, isReplay: _): .encodedResult(bytes)
            }
        }
    }
}

extension ActionResult {
    /// - Parameter spelled: the outcomes as the envelope has them.
    fileprivate init(
        _ result: WriteResult<[RecordOutcome]>,
        id: RequestID,
        _ spelled: ([RecordOutcome]) -> [RecordOutcome] = { $0 }
    ) {
        switch result {
        case .fresh(let outcomes): self = .written(reported(spelled(outcomes), as: id))
        case .encoded(let bytes, isReplay: _): self = .encodedResult(bytes)
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

extension RecordOutcome {
    /// The same with an error as Skygear has it.
    fileprivate var ofSkygear: RecordOutcome {
        if case .failure(let error, let id) = self { .failure(error.ofSkygear, id: id) } else { self }
    }
}
