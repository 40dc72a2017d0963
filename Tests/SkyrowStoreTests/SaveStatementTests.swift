import SkyrowModel
import SkyrowProtocol
import SkyrowQuery
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowStore

@Suite struct SaveStatementTests {
    private func statement(
        _ drafts: [RecordDraft],
        _ database: DatabaseScope,
        _ caller: Caller,
        instant: Int64? = nil
    ) -> (SaveStatement, BatchPlan.Group) {
        let plan = BatchPlan(drafts.map { .draft($0) }, catalog: .notes, database: database) { "new" }
        let statement = SaveStatement(
            plan: plan,
            catalog: .notes,
            access: RecordAccess(caller, in: database),
            instant: instant.map { PostgresTimestamp(microsecondsSince2000: $0) },
            progress: SaveProgress()
        )
        return (statement, plan.units[0][0])
    }

    @Test func aSaveOfOneRecordIsOneUpsert() {
        let (statement, group) = statement([draft("note/1", ["title": .string("x")])], .everyone, .ann)
        let sql = statement.sql(for: group)
        let columns = SchemaCatalog.notes.note.wholeRow.columns.text
        #expect(
            sql.text == #"INSERT INTO "app"."note" AS "r" ("_id", "_owner", "_created_by", "_updated_by", "title") "#
                + #"SELECT "i"."_id", $1, $2, $3, "i"."title" FROM (VALUES ($4, $5)) AS "i" ("_id", "title") "#
                + #"ON CONFLICT ("_id") DO UPDATE SET "_updated_at" = EXCLUDED."_updated_at", "#
                + #""_updated_by" = EXCLUDED."_updated_by", "_revision" = EXCLUDED."_revision", "#
                + #""title" = EXCLUDED."title" WHERE "r"."_database" = '_public' AND ("r"."_owner" = $6 "#
                + #"OR ("r"."_access" ?| (SELECT $7::text::text[]) AND EXISTS (SELECT FROM "#
                + #"jsonb_each_text("r"."_access") AS "e" ("subject", "level") WHERE "e"."level" IN ('update', 'write') "#
                + #"AND "e"."subject" = ANY ((SELECT $8::text::text[])::text[])))) RETURNING "# + columns
        )
        #expect(
            BoundValues(sql.bindings)
                == BoundValues {
                    let audience = #"{"public","user:ann","users"}"#
                    for value in ["ann", "ann", "ann", "1", "x", "ann", audience, audience] { $0.append(value) }
                }
        )
    }

    @Test func aSaveOfSeveralRecordsIsOneUpsertOfArrays() {
        let (statement, group) = statement(
            [draft("note/1", ["title": .string("x")]), draft("note/2", ["title": .null])],
            .user("ann"),
            .ann
        )
        let sql = statement.sql(for: group)
        #expect(sql.text.contains(#"FROM unnest($5, $6) AS "i" ("_id", "title") ON CONFLICT"#))
        #expect(sql.text.contains(#"WHERE "r"."_database" = $7 RETURNING"#))
        #expect(
            BoundValues(sql.bindings)
                == BoundValues {
                    for value in ["ann", "ann", "ann", "ann"] { $0.append(value) }
                    $0.append(["~ann/1", "~ann/2"])
                    $0.append(["x", nil])
                    $0.append("ann")
                }
        )
    }

    static let preconditions: [SavePrecondition?] = [nil, .isNew, .revision(3)]
    static let callers: [(DatabaseScope, Caller)] = [
        (.everyone, .ann), (.everyone, Caller(kind: .user("bob"), roles: ["a"])), (.everyone, .master),
        (.everyone, Caller(kind: .master(actingAs: "ann"))), (.user("ann"), .ann), (.user("ann"), .master),
    ]

    @Test(arguments: preconditions, callers)
    func asManyValuesAreBoundAsThereArePlaceholders(_ precondition: SavePrecondition?, _ who: (DatabaseScope, Caller)) {
        let values = RecordsFixture.everyValue.merging(["next": .reference(id("note/1"))]) { $1 }
        for count in [1, 2] {
            for access in [nil, AccessList([AccessEntry(.everyone, .read)])] {
                for instant in [nil, 7] as [Int64?] {
                    let drafts = (1...count).map {
                        draft("note/\($0)", values, access: access, precondition: precondition)
                    }
                    let (statement, group) = statement(drafts, who.0, who.1, instant: instant)
                    let text = statement.text(for: group)
                    let new = text.template(on: group.table)
                    let kept = statement.sql(for: group)
                    #expect(kept.text == new.text)
                    #expect(kept.bindings.failure == nil && kept.bindings.count == new.parameters.count)
                    for (parameter, value) in zip(new.parameters, kept.bindings.values) {
                        let expected: UserID?
                        switch parameter {
                        case .actor, .access(.user): expected = statement.access.actor
                        case .newOwner: expected = statement.access.newOwner
                        case .database: expected = "ann"
                        default: continue
                        }
                        let bytes = kept.bindings.encoder.bytes[value.offset...].prefix(max(value.length, 0))
                        #expect(
                            value.length < 0
                                ? expected == nil : String(decoding: bytes, as: UTF8.self) == expected?.rawValue
                        )
                    }
                }
            }
        }
    }

    @Test(arguments: [nil, .revision(3)] as [SavePrecondition?], callers.filter { $0.0 == .everyone })
    func theRuleOfAFieldIsBoundToo(_ precondition: SavePrecondition?, _ who: (DatabaseScope, Caller)) {
        for count in [1, 2] {
            let drafts = (1...count).map {
                draft("user/\($0)", ["username": .string("x")], precondition: precondition)
            }
            let (statement, group) = statement(drafts, who.0, who.1)
            let sql = statement.sql(for: group)
            #expect(sql.bindings.failure == nil)
            let rule = #"OR "i"."username" IS NOT DISTINCT FROM "r"."username")"#
            #expect(sql.text.contains(rule) != who.1.isMaster)
        }
    }

    @Test func theVerdictOnARefusedSaveRevealsNoMoreThanItMust() {
        var budget = StepBudget.operators
        let (statement, _) = statement([draft("note/1")], .everyone, .ann)
        let plain = statement.plan.writes[0]
        guard case .tryAgain = SaveVerdict(SaveIntent(plain), nil, by: .user("ann"), within: &budget) else {
            Issue.record("What is missing by now can be created.")
            return
        }
        let revised = self.statement([draft("note/1", precondition: .revision(1))], .everyone, .ann).0.plan.writes[0]
        guard case .refused(let error) = SaveVerdict(SaveIntent(revised), nil, by: .user("ann"), within: &budget) else {
            Issue.record("A revision of nothing is a conflict.")
            return
        }
        #expect(error == .conflict && error.info.isEmpty)
    }
}
