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
    init(
        _ drafts: RecordDraft...,
        database: DatabaseName = .everyone,
        atomic: Bool = false,
        key: String? = nil
    ) {
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
    var summaries: [String] {
        switch self {
        case .fresh(let outcomes): outcomes.map(\.summary)
        case .encoded(let bytes, _): [String(decoding: bytes, as: UTF8.self)]
        }
    }
}

/// What a test stores as the bytes of an answer.
@Sendable func summarize(_ outcomes: [RecordOutcome]) -> [UInt8] {
    Array(outcomes.map(\.summary).joined(separator: " ").utf8)
}

extension ActionService {
    func save(_ request: SaveRequest, by caller: Caller) async throws(SkyrowError) -> WriteResult<[RecordOutcome]> {
        try await save(request, by: caller, encode: summarize)
    }

    func delete(
        _ ids: [String],
        in database: DatabaseName = .everyone,
        atomic: Bool = false,
        key: String? = nil,
        by caller: Caller
    )
        async throws(SkyrowError) -> WriteResult<[RecordOutcome]>
    {
        try await delete(
            RecordIDsRequest(database: database, ids: ids.map { id($0) }, isAtomic: atomic, idempotencyKey: key),
            by: caller,
            encode: summarize
        )
    }

    func fetch(_ ids: String..., in database: DatabaseName = .everyone, by caller: Caller) async throws(SkyrowError)
        -> [String]
    {
        try await fetch(RecordIDsRequest(database: database, ids: ids.map { id($0) }), by: caller).map(\.summary)
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
