import SkyrowModel
import SkyrowPostgres
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions
@testable import SkyrowMaintenance

/// Fields that are named like the columns of the reserved tables, or like what a statement calls its own parts.
///
/// Statements join record tables with reserved ones, so a column that a statement names without its table becomes
/// ambiguous as soon as an application has a field of that name.
@Suite(.timeLimit(.minutes(60))) struct ReservedColumnNameTests {
    /// A type of field, a value of it, and one to save later.
    struct Kind: Sendable, CustomTestStringConvertible {
        var type: FieldType
        var value: RecordValue
        var other: RecordValue
        var testDescription: String { type.name }
    }

    private static func json(_ text: String) -> RecordValue { .json(JSONText(validated: Array(text.utf8))) }

    static let kinds: [Kind] = [
        Kind(type: .string, value: .string("a"), other: .string("b")),
        Kind(type: .integer, value: .integer(1), other: .integer(2)),
        Kind(type: .number, value: .number(1.5), other: .number(2.5)),
        Kind(type: .boolean, value: .boolean(true), other: .boolean(false)),
        Kind(
            type: .datetime,
            value: .datetime(Timestamp(microseconds: 0)),
            other: .datetime(Timestamp(microseconds: 1))
        ),
        Kind(type: .json, value: json(#"{"a": 1}"#), other: json(#"["b"]"#)),
        Kind(
            type: .reference(type("target")),
            value: .reference(id("target/t")),
            other: .reference(id("target/u"))
        ),
        Kind(type: .sequence, value: .sequence, other: .integer(1_000_000)),
        Kind(type: .bytes, value: .bytes([1]), other: .bytes([2])),
    ]

    /// Names of tables, of other parts of statements and of their results.
    private static let parts = [
        "account", "before", "ended", "entry", "example", "given", "i", "is_broken", "j1", "judged", "kind", "m",
        "member",
        "meta", "n", "o", "p", "place", "profile", "q", "r", "record", "roles", "rule", "session", "t", "v1", "value",
        "wanted", "year", "user", "count", "select",
    ]

    /// The fields that every profile has; their types are given.
    private static let profileFields: Set<String> = ["username", "email", "last_login_at", "_verified"]

    private func names(_ fixture: ServiceFixture) async throws -> [FieldName] {
        let columns = try await fixture.psql(
            """
            SELECT DISTINCT column_name FROM information_schema.columns
            WHERE table_schema IN ('app', 'app_internal') AND (starts_with(table_name, '_') OR table_name = 'user')
            """
        )
        let reserved = columns.split(separator: "\n").map(String.init)
        #expect(Set(reserved).isSuperset(of: ["disabled", "password_hash", "name", "token_hash", "username"]))
        // No other type has what the service keeps in profiles.
        return Set(reserved + Self.parts).compactMap { try? FieldName($0) }.filter { !$0.isReserved }.sorted()
    }

    @Test(arguments: kinds)
    func everyActionWorks(beside kind: Kind) async throws {
        try await withService { fixture in
            let service = fixture.service
            let names = try await names(fixture)
            let ofProfiles = names.filter { !Self.profileFields.contains($0.rawValue) }
            let master = ServiceFixture.masterCaller
            _ = try await service.run(
                Actions.schemaCreate,
                [
                    RecordType(name: type("target")),
                    RecordType(
                        name: type("thing"),
                        fields: Dictionary(uniqueKeysWithValues: names.map { ($0, kind.type) })
                    ),
                    RecordType(
                        name: .user,
                        fields: Dictionary(uniqueKeysWithValues: ofProfiles.map { ($0, kind.type) })
                    ),
                ],
                by: master
            )
            let targets = try await service.save(
                SaveRequest(draft("target/t"), draft("target/u")),
                by: ServiceFixture.masterCaller
            )
            #expect(targets.summaries == ["saved", "saved"])
            let caller = try await useAccounts(fixture, ofProfiles, kind)
            try await useRecords(fixture, type("thing"), names, kind, by: caller)
            try await useRecords(fixture, .user, ofProfiles, kind, by: caller)
            try await operate(fixture, names)
            _ = try await service.run(
                Actions.schemaRename,
                FieldRename(type: type("thing"), field: field("disabled"), newName: field("enabled")),
                by: master
            )
            let deletion = FieldDeletion(type: .user, field: field("disabled"))
            _ = try await service.run(Actions.schemaDelete, deletion, by: master)
        }
    }

    /// Everything that is done with an account; returns its user.
    private func useAccounts(
        _ fixture: ServiceFixture,
        _ names: [FieldName],
        _ kind: Kind
    ) async throws -> Caller {
        let service = fixture.service
        let first = LogInRequest(authData: ["username": "ann"], password: "correct horse")
        let result = try await service.signUp(
            SignUpRequest(
                authData: first.authData,
                password: first.password,
                profile: names.map { ($0, kind.value) }
            )
        )
        _ = try await service.signUp(SignUpRequest(profile: names.map { ($0, kind.value) }))
        let caller = try await service.authenticate(.token(result.accessToken), for: .user)
        let roles = RoleAssignment(roles: ["editor"], users: [result.userID])
        try await service.run(Actions.roleAssign, roles, by: ServiceFixture.masterCaller)
        #expect(try await service.logIn(first).roles == ["editor"])
        try await service.run(Actions.roleRevoke, roles, by: ServiceFixture.masterCaller)
        let changed = try await service.changePassword(
            ChangePasswordRequest(oldPassword: first.password, password: "battery staple"),
            by: caller
        )
        let token = Credentials.token(changed.accessToken)
        #expect(try await service.authenticate(token, for: .user) == caller.unproved)
        let second = LogInRequest(authData: first.authData, password: "battery staple")
        for isDisabled in [true, false] {
            try await service.run(
                Actions.authDisableSet,
                DisabledState(userID: result.userID, isDisabled: isDisabled, message: "Later."),
                by: ServiceFixture.masterCaller
            )
            if isDisabled { try await expectError(.userDisabled) { try await service.logIn(second) } }
        }
        let login = try await service.logIn(second)
        try await service.run(Actions.authLogOut, with: .token(login.accessToken))
        let names = try await service.store.users.accounts(named: "ANN").map(\.id)
        #expect(names == [result.userID])
        #expect(try await service.store.users.newest(10).count == 2)
        return caller
    }

    /// Saves, fetches and queries a record with all fields, by each of them; the last of it deletes the record.
    private func useRecords(
        _ fixture: ServiceFixture,
        _ name: RecordTypeName,
        _ names: [FieldName],
        _ kind: Kind,
        by caller: Caller
    ) async throws {
        let service = fixture.service
        let user = try #require(caller.userID)
        let record = name == .user ? id("user/\(user)") : id("\(name)/x")
        for value in [kind.value, kind.other] {
            let draft = RecordDraft(id: record, fields: names.map { ($0, value) })
            // Alone, and as one of several.
            #expect(try await service.save(SaveRequest(draft), by: caller).summaries == ["saved"])
            let both = SaveRequest(draft, RecordDraft(id: id("thing/y"), fields: []), atomic: true)
            #expect(try await service.save(both, by: caller).summaries == ["saved", "saved"])
        }
        let fetched = try await service.fetch(RecordIDsRequest(database: .everyone, ids: [record]), by: caller)
        guard case .record(let source) = try #require(fetched.first) else {
            Issue.record("The record is not there.")
            return
        }
        #expect(names.allSatisfy { source.collected()?.fields[$0] == kind.other })
        // All fields once, which take most of the time; the fetch above had them in other statements.
        let first = Self.kinds.firstIndex { $0.type == kind.type } ?? 0
        for (place, field) in names.enumerated() {
            let sent = place == 0 ? nil : [field.rawValue]
            try await query(service, name, field, kind, sending: sent, ways: first + place, by: caller)
        }
        if name != .user {
            #expect(
                try await service.delete(["\(record)", "thing/y"], by: caller).summaries == ["deleted", "deleted"]
            )
        }
    }

    /// Asks for a field with and without a count, in one database and in all. A quick run asks in one of these four ways, and
    /// with the next kind in the next way.
    private func query(
        _ service: ActionService,
        _ name: RecordTypeName,
        _ field: FieldName,
        _ kind: Kind,
        sending fields: [String]?,
        ways first: Int,
        by caller: Caller
    ) async throws {
        let path = FieldPath(unchecked: field.rawValue)
        var query = RecordQuery(type: name, predicate: .comparison(.neq, .keyPath(path), .value(.null)))
        query.desiredFields = fields
        if kind.type != .json {
            query.predicate = .comparison(.eq, .keyPath(path), .value(kind.other))
            query.sort = [SortKey(path, .descending)]
        }
        if case .reference = kind.type { query.include = [Inclusion(name: field.rawValue, keyPath: path)] }
        for way in first..<first + min(4, seededCases(1)) {
            query.countsMatches = way % 4 >= 2
            let database = way.isMultiple(of: 2) ? DatabaseName.everyone : .union
            let caller = database == .everyone ? caller : ServiceFixture.masterCaller
            let result = try await service.query(QueryRequest(database: database, query: query), by: caller)
            #expect(result.records.count >= 1, "\(name).\(field)")
            #expect(result.count == nil || result.count == result.records.count, "\(name).\(field)")
        }
    }

    /// What an operator does: export and import, and the doctor's checks.
    private func operate(_ fixture: ServiceFixture, _ names: [FieldName]) async throws {
        let store = fixture.service.store
        let exported = try await store.withExport { $0.types.first { $0.name == type("thing") }?.columnNames }
        #expect(exported?.suffix(names.count) == names.map(\.rawValue)[...])
        let count = try await store.withImport { records in
            let rows = AsyncStream<ImportRow> { continuation in
                continuation.yield(ImportRow(line: 1, id: "imported", values: []))
                continuation.finish()
            }
            return try await records.add(rows, to: ImportColumns(type: .user, fields: []))
        }
        #expect(count == 1)
        try await withPostgresClient(fixture.database.url) { configuration in
            configuration.searchPath = ["app"]
        } _: { client in
            let doctor = DoctorRun(
                client: client,
                schema: "app",
                limits: DoctorLimits(),
                now: { ServiceClock.system.now().microseconds + Timestamp.unixEpochOffset },
                logger: .quiet
            )
            for diagnosis in try await doctor([.records, .accounts]) {
                #expect(diagnosis.findings.map(\.what) == [], "\(diagnosis.check)")
            }
        }
    }
}
