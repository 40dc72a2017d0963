import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowStore

/// The texts of statements are kept with their tables: what one caller's request has left there must not show in
/// another's.
@Suite(.timeLimit(.minutes(60))) struct StatementTextTests {
    static let few: [RoleName] = ["a", "b"]
    static let many: [RoleName] = (0..<50).map { "role\($0)" }
    static let callers: [(name: String, caller: Caller)] = [
        ("anonymous", .anonymous), ("user", .ann), ("few roles", Caller(kind: .user("ann"), roles: few)),
        ("many roles", Caller(kind: .user("ann"), roles: many)),
        ("administrator", Caller(kind: .user("ann"), roles: few, isAdministrator: true)), ("other", .bob),
        ("other with many roles", Caller(kind: .user("bob"), roles: many)), ("master", .master),
        ("master as ann", Caller(kind: .master(actingAs: "ann"))),
        ("master as one with roles", Caller(kind: .master(actingAs: "ann"), roles: many)),
    ]
    static let scopes: [DatabaseScope] = [.everyone, .user("ann"), .user("bob"), .union]

    /// The catalog of ``SchemaCatalog/notes`` with tables that have built nothing yet.
    ///
    /// - Parameters:
    ///   - fields: rules of fields, by type and field.
    ///   - missing: fields that `note` is without.
    private func freshCatalog(
        _ fields: [String: [String: [FieldUse: FieldSubjects]]] = [:],
        without missing: Set<String> = []
    ) -> SchemaCatalog {
        let tables = ["note", "category", "user"].map { name in
            let table = SchemaCatalog.notes[type(name)]!
            var rules = table.rules
            let applied = (fields[name] ?? [:]).map { (field($0.key), $0.value) }
            rules.fields = rules.fields.applying(Dictionary(uniqueKeysWithValues: applied))
            return RecordTable(
                name: table.name,
                schema: table.schema,
                identifier: table.identifier,
                columns: table.columns.filter { name != "note" || !missing.contains($0.field.rawValue) },
                rules: rules
            )
        }
        return SchemaCatalog(schema: "app", version: 1, tables: tables)
    }

    /// Every statement that a caller's requests make, as text and values.
    private func statements(
        of caller: Caller,
        in scope: DatabaseScope,
        _ catalog: SchemaCatalog
    ) throws -> [String: Statement] {
        let access = RecordAccess(caller, in: scope)
        let table = catalog.note.visible(to: access.fields)
        var statements: [String: Statement] = [:]
        if scope != .union {
            let fetch = FetchStatement.one(id: "1", table: table, access: access)
            statements["fetch of one"] = Statement(fetch.sql)
            statements["fetch of one, beside others"] = Statement(fetch.coalescing.many.binding(fetch.sql.bindings))
        }
        statements["fetch"] = Statement(FetchStatement.make(ids: ["1", "2"], table: table, access: access).sql)
        var query = RecordQuery(type: type("note"), predicate: .compare(.eq, "category.name", .string("x")))
        query.include = [Inclusion(name: "next", keyPath: path("next"))]
        for countsMatches in [false, true] {
            query.countsMatches = countsMatches
            statements["query \(countsMatches)"] = Statement(
                try QueryStatement(query, table: table, catalog: catalog.visible(to: access.fields), access: access).sql
            )
        }
        for action in [AccessAction.update, .delete] {
            statements["judge \(action)"] = Statement(
                JudgeStatement(ids: [id("note/1")], table: catalog.note, access: access, for: action).sql
            )
        }
        for (name, drafts) in Self.saves {
            let plan = BatchPlan(drafts.map { .draft($0) }, catalog: catalog, database: scope) { "new" }
            for progress in [SaveProgress(), Self.progress] {
                let statement = SaveStatement(
                    plan: plan,
                    catalog: catalog,
                    access: access,
                    instant: progress.refused.isEmpty ? nil : PostgresTimestamp(microsecondsSince2000: 7),
                    progress: progress
                )
                for (place, group) in plan.units.joined().enumerated() {
                    statements["\(name), \(place), \(progress.refused)"] = Statement(statement.sql(for: group))
                }
            }
        }
        return statements
    }

    /// A request whose first record was refused.
    private static let progress: SaveProgress = {
        var progress = SaveProgress()
        progress.refused = [0]
        return progress
    }()

    private static let saves: [String: [RecordDraft]] = {
        let list = AccessList([AccessEntry(.everyone, .read)])
        let reference: [String: RecordValue] = ["category": .reference(id("category/1"))]
        return [
            "save": [draft("note/1", ["title": .string("x")])],
            "save of a reference": [draft("note/1", reference)],
            "save of a list": [draft("note/1", reference, access: list)],
            "save of several": [draft("note/1", reference), draft("note/2", reference)],
            "save of a new one": [draft("note/1", reference, precondition: .isNew)],
            "save of a revision": [draft("note/1", reference, access: list, precondition: .revision(3))],
            "save of two types": [draft("category/1", ["rank": .integer(1)]), draft("note/1", reference)],
            "save of each other": [
                draft("note/1", ["next": .reference(id("note/2"))]),
                draft("note/2", ["next": .reference(id("note/1"))]),
            ],
            "save of a profile": [draft("user/ann", ["username": .string("x")], access: list)],
        ]
    }()

    private struct Statement: Equatable, CustomStringConvertible {
        let text: String
        let values: BoundValues
        let isComplete: Bool

        init(_ sql: SQL) {
            text = sql.text
            values = BoundValues(sql.bindings)
            isComplete = sql.bindings.failure == nil
        }

        var description: String { text }
    }

    @Test(arguments: scopes)
    func noCallerChangesTheStatementsOfAnother(in scope: DatabaseScope) throws {
        for second in Self.callers {
            let expected = try statements(of: second.caller, in: scope, freshCatalog())
            for (name, statement) in expected { #expect(statement.isComplete, "\(second.name): \(name)") }
            for first in Self.callers {
                let catalog = freshCatalog()
                _ = try statements(of: first.caller, in: scope, catalog)
                for (name, statement) in try statements(of: second.caller, in: scope, catalog) {
                    #expect(statement == expected[name], "\(first.name), then \(second.name): \(name)")
                }
            }
        }
    }

    /// A type without rules of fields has the statements that it had, whatever rules other types have, and so has one whose rules
    /// allow the caller everything. Fields that are hidden from a caller are as those that are not there.
    @Test(arguments: scopes)
    func rulesOfFieldsThatAreSettledForACallerChangeNoStatement(in scope: DatabaseScope) throws {
        let elsewhere: [String: [String: [FieldUse: FieldSubjects]]] = [
            "category": ["rank": [.read: [], .create: [.owner]]], "user": ["risk": [.read: [.owner], .update: []]],
        ]
        let open = ["title", "category", "next"].map {
            ($0, [FieldUse.read: [.everyone], .update: [.everyone]] as [FieldUse: FieldSubjects])
        }
        let hidden = ["done", "due", "serial"]
        let closed = hidden.map { ($0, [FieldUse.read: [.role("no one's")]] as [FieldUse: FieldSubjects]) }
        for (name, caller) in Self.callers {
            let expected = try statements(of: caller, in: scope, freshCatalog())
            for rules in [elsewhere, ["note": Dictionary(uniqueKeysWithValues: open)]] {
                let found = try statements(of: caller, in: scope, freshCatalog(rules))
                for (name, statement) in expected { #expect(found[name] == statement, "\(name)") }
            }
            guard !caller.isMaster else { continue }
            let without = try statements(of: caller, in: scope, freshCatalog(without: Set(hidden)))
            let found = try statements(
                of: caller,
                in: scope,
                freshCatalog(["note": Dictionary(uniqueKeysWithValues: closed)])
            )
            for (statement, expected) in without where statement.hasPrefix("fetch") || statement.hasPrefix("query") {
                #expect(found[statement] == expected, "\(name): \(statement)")
                #expect(expected.text != "" && !expected.text.contains("\"due\""))
            }
        }
    }

    @Test(arguments: [[few, many], [many, few]])
    func privateSavesOfReferencesFollowEachOtherWhateverTheRoles(_ order: [[RoleName]]) async throws {
        try await withRecords { f in
            try await f.save("category/1", [:], .bob)
            for (place, roles) in order.enumerated() {
                for user in ["ann", "bob"] as [UserID] {
                    let caller = Caller(kind: .user(user), roles: roles)
                    let reference: [String: RecordValue] = ["category": .reference(id("category/1"))]
                    for scope in [DatabaseScope.user(user), .everyone] {
                        try await f.save("note/\(user)\(place)", reference, caller, in: scope)
                        let record = try await f.fetch("note/\(user)\(place)", caller, in: scope)
                        #expect(record?.fields[field("category")] == .reference(id("category/1")))
                    }
                }
            }
        }
    }
}
