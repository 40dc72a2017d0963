import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Synchronization

@testable import SkyrowActions

/// A hook as a value of a test.
struct TestHook: Sendable {
    typealias Body = @Sendable (HookInput, FunctionContext) async throws(SkyrowError) -> FunctionAnswer

    let description: HookDescription
    let dialect: FunctionDialect
    let body: Body

    /// A hook on records, by default on the type `note`.
    static func records(
        _ name: String,
        _ trigger: HookTrigger,
        on type: String? = "note",
        when: Set<HookDescription.Change> = Set(HookDescription.Change.allCases),
        fields: [String] = [],
        isAsync: Bool = false,
        isRequired: Bool = true,
        batch: Int = 100,
        dialect: FunctionDialect = .skyrow,
        verdict: @escaping @Sendable (HookedRecord) async throws(SkyrowError) -> HookVerdict
    ) -> TestHook {
        var description = HookDescription(name, trigger, on: type.map { try! RecordTypeName($0) })
        description.when = when
        description.fields = Set(fields.map { field($0) })
        description.isAsync = isAsync
        description.isRequired = isRequired
        description.batch = batch
        return TestHook(description: description, dialect: dialect) { input, _ throws(SkyrowError) in
            guard case .records(let records) = input else { return .nothing }
            var verdicts: [HookVerdict] = []
            for record in records { verdicts.append(try await verdict(record)) }
            return .records(verdicts)
        }
    }

    /// A hook that is not about records that change.
    static func other(
        _ name: String,
        _ trigger: HookTrigger,
        on type: String? = nil,
        isRequired: Bool = true,
        body: @escaping Body
    ) -> TestHook {
        var description = HookDescription(name, trigger, on: type.map { try! RecordTypeName($0) })
        description.isRequired = isRequired
        return TestHook(description: description, dialect: .skyrow, body: body)
    }
}

/// Runs the hooks of a test, and notes their calls.
final class TestRunner: FunctionRunner {
    private let bodies: [String: TestHook.Body]
    private let noted = Mutex<[String]>([])

    init(_ hooks: [TestHook]) {
        bodies = Dictionary(uniqueKeysWithValues: hooks.map { ($0.description.name, $0.body) })
    }

    /// `before(note/1,note/2)` for each call, in the order in which they began.
    var calls: [String] { noted.withLock { $0 } }

    var states: [(server: String, state: FunctionServerState)] { [] }

    func call(_ call: FunctionCall, deadline: ContinuousClock.Instant?) async throws(SkyrowError) -> FunctionAnswer {
        guard case .hook(let description, let input) = call.content, let body = bodies[description.name] else {
            throw SkyrowError(.undefinedOperation, "No such hook.")
        }
        let subjects =
            switch input {
            case .records(let records): records.map { $0.record.id.description }.joined(separator: ",")
            case .account(let profile): profile.id.description
            case .query(let text): String(decoding: text.utf8, as: UTF8.self)
            }
        noted.withLock { $0.append("\(description.name)(\(subjects))") }
        return try await body(input, call.context)
    }
}

/// The records that a hook got.
final class Records: Sendable {
    private let values = Mutex<[HookedRecord]>([])

    var all: [HookedRecord] { values.withLock { $0 } }

    func append(_ value: HookedRecord) { values.withLock { $0.append(value) } }
}

/// A service with hooks beside one without on the same database, and two users.
struct HookedService: Sendable {
    let service: ActionService
    let runner: TestRunner
    let plain: ServiceFixture
    let ann: Caller
    let bob: Caller

    func save(_ drafts: RecordDraft..., atomic: Bool = false, key: String? = nil) async throws -> [RecordOutcome] {
        var request = SaveRequest(database: .everyone, items: drafts.map { .draft($0) }, isAtomic: atomic)
        request.idempotencyKey = key
        request.fingerprintSource = Array("\(drafts)".utf8)
        return try await service.save(request, by: ann).outcomes
    }

    @discardableResult
    func psql(_ statements: String) async throws -> String {
        try await plain.psql(statements)
    }

    /// Hides fields of notes from all users.
    func hide(_ fields: String...) async throws {
        var change = ClassAccessChange(type: type("note"))
        for name in fields { change.fields[field(name)] = [.read: [.role("auditor")]] }
        _ = try await service.run(Actions.schemaAccessSet, change, by: ServiceFixture.masterCaller)
    }

    /// A further service with the same hooks on the same database, which shares no turns with the first.
    func further(_ hooks: [TestHook]) -> HookedService {
        let (service, runner) = plain.hooked(hooks)
        return HookedService(service: service, runner: runner, plain: plain, ann: ann, bob: bob)
    }
}

extension ServiceFixture {
    /// The same service with hooks: those of one dialect are of one server.
    func hooked(_ hooks: [TestHook]) -> (service: ActionService, runner: TestRunner) {
        let runner = TestRunner(hooks)
        let service = configured { $0.functions = FunctionConfiguration(runner: runner, servers: ["main"]) }
        let registrations = [FunctionDialect.skyrow, .skygear].compactMap {
            dialect -> (String, FunctionRegistration)? in
            let hooks = hooks.filter { $0.dialect == dialect }
            guard !hooks.isEmpty else { return nil }
            var registration = FunctionRegistration(dialect: dialect)
            registration.hooks = hooks.map(\.description)
            return (dialect.rawValue, registration)
        }
        service.functions.replace(
            FunctionRegistry(servers: registrations.map { (name: $0.0, registration: $0.1) }, database: [])
        )
        return (service, runner)
    }
}

/// Runs `body` with a service that has hooks, after ann has saved `note/ann` without them.
func withHooks(
    _ hooks: [TestHook],
    _ mode: SchemaMode = .development,
    test: String = #function,
    _ body: (HookedService) async throws -> Void
) async throws {
    try await withService(mode, test: test) { fixture in
        let ann = try await fixture.service.signUp("ann").caller
        let bob = try await fixture.service.signUp("bob").caller
        _ = try await fixture.service.store.createTypes([
            RecordType(
                name: type("note"),
                fields: [
                    field("title"): .string, field("stars"): .integer, field("tags"): .json,
                    field("next"): .reference(type("note")),
                ]
            )
        ])
        var note = draft("note/ann", ["title": .string("x"), "stars": .integer(1)])
        note.precondition = .isNew
        _ = try await fixture.service.save(SaveRequest(note), by: ann)
        let (service, runner) = fixture.hooked(hooks)
        try await body(HookedService(service: service, runner: runner, plain: fixture, ann: ann, bob: bob))
    }
}

func jsonText(_ text: String) -> JSONText { JSONText(validated: Array(text.utf8)) }

func jsonValue(_ text: String) -> RecordValue { .json(jsonText(text)) }

/// An error that an application has made up.
let ownError = SkyrowError(ErrorCode(rawValue: 20_001), "Not today.")

func sets(_ fields: [String: RecordValue?], access: AccessList? = nil) -> HookVerdict {
    .accepted(
        set: Dictionary(
            uniqueKeysWithValues: fields.map { ($0.key == "_verified" ? .verified : field($0.key), $0.value) }
        ),
        access: access
    )
}

extension HookedRecord {
    subscript(name: String) -> RecordValue? { record.fields[field(name)] }
}

extension RecordOutcome {
    /// The record as the caller gets it; nil for an error.
    var sent: Record? {
        if case .record(let source) = self { source.collected() } else { nil }
    }

    var error: SkyrowError? {
        if case .failure(let error, _) = self { error } else { nil }
    }
}
