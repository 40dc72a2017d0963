import SkyrowJSON
import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import Testing

@testable import SkyrowActions

// Values as tests write them; a wrong one is the test's own mistake.

func type(_ name: String) -> RecordTypeName { try! RecordTypeName(name) }
func field(_ name: String) -> FieldName { try! FieldName(name) }
func id(_ text: String) -> RecordID { try! RecordID(text) }

func draft(_ recordID: String, _ fields: KeyValuePairs<String, RecordValue> = [:]) -> RecordDraft {
    RecordDraft(id: id(recordID), fields: fields.map { (field($0.key), $0.value) })
}

extension SaveRequest {
    init(_ drafts: RecordDraft..., database: DatabaseName = .everyone, atomic: Bool = false, key: String? = nil) {
        self.init(
            database: database,
            items: drafts.map { .draft($0) },
            isAtomic: atomic,
            idempotencyKey: key,
            fingerprintSource: Array("\(drafts)".utf8)
        )
    }
}

extension RecordOutcome {
    /// `saved`, `deleted` or the name of the error: what a row of a test table expects.
    var summary: String {
        switch self {
        case .record: "saved"
        case .deleted: "deleted"
        case .failure(let error, _): error.code.name
        }
    }
}

extension WriteResult<[RecordOutcome]> {
    /// The outcomes, read from the text where that was kept.
    var outcomes: [RecordOutcome] {
        guard case .fresh(let outcomes) = self.read(by: Actions.recordSave.result) else { return [] }
        return outcomes
    }

    var summaries: [String] { outcomes.map(\.summary) }
}

extension WriteResult<DeletionResult> {
    var summaries: [String] {
        guard case .fresh(.outcomes(let outcomes)) = self.read(by: Actions.recordDelete.result) else { return [] }
        return outcomes.map(\.summary)
    }
}

extension WriteResult {
    fileprivate func read(by codec: Codec<WriteResult>) -> WriteResult {
        guard case .encoded(let bytes, _) = self else { return self }
        return try! JSONDocument(bytes).withRoot { json throws(SkyrowError) in try codec.read(json, "result") }
    }
}

extension ActionService {
    /// Performs an action with parameters as they are, also such as no request can have.
    func perform<Parameters, Result>(
        _ action: Action<Parameters, Result>,
        _ parameters: Parameters,
        _ call: Call
    ) async throws(SkyrowError) -> Result {
        guard let entry = ActionTable[action.name] as? Entry<Parameters, Result> else { throw .unexpected }
        return try await entry.run(parameters, self, call)
    }

    func save(
        _ request: SaveRequest,
        by caller: Caller,
        with credentials: Credentials = Credentials()
    ) async throws(SkyrowError) -> WriteResult<[RecordOutcome]> {
        try await perform(Actions.recordSave, request, Call(by: caller, with: credentials))
    }

    func delete(
        _ ids: [String],
        in database: DatabaseName = .everyone,
        atomic: Bool = false,
        key: String? = nil,
        by caller: Caller
    ) async throws(SkyrowError) -> WriteResult<DeletionResult> {
        let ids = ids.map { id($0) }
        let request = RecordIDsRequest(database: database, ids: ids, isAtomic: atomic, idempotencyKey: key)
        return try await perform(Actions.recordDelete, .ids(request), Call(by: caller))
    }

    func fetch(_ request: RecordIDsRequest, by caller: Caller) async throws(SkyrowError) -> [RecordOutcome] {
        try await perform(Actions.recordFetch, request, Call(by: caller))
    }

    func fetch(_ ids: String..., in database: DatabaseName = .everyone, by caller: Caller) async throws(SkyrowError)
        -> [String]
    {
        try await fetch(RecordIDsRequest(database: database, ids: ids.map { id($0) }), by: caller).map(\.summary)
    }

    func query(_ request: QueryRequest, by caller: Caller) async throws(SkyrowError) -> QueryResult {
        guard case .found(let page) = try await perform(Actions.recordQuery, request, Call(by: caller)) else {
            throw .unexpected
        }
        return page
    }

    func signUp(
        _ request: SignUpRequest,
        by caller: Caller = .anonymous,
        from client: ClientKey = .none,
        origin: RequestOrigin = RequestOrigin()
    ) async throws(SkyrowError) -> AuthResult {
        try await run(Actions.authSignUp, request, by: caller, from: client, origin: origin)
    }

    func logIn(
        _ request: LogInRequest,
        from client: ClientKey = .none,
        origin: RequestOrigin = RequestOrigin()
    ) async throws(SkyrowError) -> AuthResult {
        try await run(Actions.authLogIn, request, from: client, origin: origin)
    }

    func changePassword(
        _ request: ChangePasswordRequest,
        by caller: Caller,
        with own: Credentials = Credentials(),
        from client: ClientKey = .none,
        origin: RequestOrigin = RequestOrigin()
    ) async throws(SkyrowError) -> AuthResult {
        try await run(Actions.authPassword, request, by: caller, with: own, from: client, origin: origin)
    }

    func register(
        _ request: RegisterRequest,
        by caller: Caller,
        with own: Credentials,
        from client: ClientKey = .none,
        origin: RequestOrigin = RequestOrigin()
    ) async throws(SkyrowError) -> AuthResult {
        try await run(Actions.authRegister, request, by: caller, with: own, from: client, origin: origin)
    }

    /// Signs up and answers with the caller that the new token makes.
    func signUp(_ name: String, password: String = "secret") async throws(SkyrowError) -> (
        result: AuthResult, caller: Caller
    ) {
        let result = try await signUp(SignUpRequest(authData: ["username": name], password: password))
        return (result, try await authenticate(Credentials(accessToken: result.accessToken), for: .user))
    }
}

extension Credentials {
    static func token(_ token: String) -> Credentials {
        Credentials(accessToken: token)
    }
}

/// Expects a `SkyrowError` of this code and returns it; throws what is no `SkyrowError`.
@discardableResult
func expectError<Success>(
    _ code: ErrorCode,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () async throws -> Success
) async throws -> SkyrowError? {
    do {
        let success = try await body()
        Issue.record("Expected \(code.name), got \(success)", sourceLocation: sourceLocation)
        return nil
    } catch let error as SkyrowError {
        #expect(error.code == code, "\(error)", sourceLocation: sourceLocation)
        return error
    }
}

extension Caller {
    /// The same user in a session that proves nothing more than its token, unlike that of a sign-up.
    var unproved: Caller {
        var caller = self
        caller.isElevated = false
        return caller
    }
}

extension ActionService {
    /// Performs an action that is described once.
    func run<Parameters, Result>(
        _ action: Action<Parameters, Result>,
        _ parameters: Parameters,
        by caller: Caller = .anonymous,
        with credentials: Credentials = Credentials(),
        from client: ClientKey = .none,
        origin: RequestOrigin = RequestOrigin(),
        turn: ReadTurn? = nil
    ) async throws(SkyrowError) -> Result {
        try await run(action, parameters, Call(by: caller, with: credentials, client: client, from: origin, turn: turn))
    }

    /// Performs an action without parameters.
    func run<Result>(
        _ action: Action<Void, Result>,
        by caller: Caller = .anonymous,
        with credentials: Credentials = Credentials(),
        origin: RequestOrigin = RequestOrigin()
    ) async throws(SkyrowError) -> Result {
        try await run(action, (), Call(by: caller, with: credentials, from: origin))
    }
}
