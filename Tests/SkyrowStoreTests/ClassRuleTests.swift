import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowStore

extension ClassRules {
    /// Rules of every mode about every kind of subject; those of notes, whose titles and labels may be users.
    static func random(_ random: inout SeededGenerator) -> ClassRules? {
        var access = ClassAccess()
        let subjects: [Subject] = [
            .everyone, .users, .registered, .owner, .user("ann"), .user("bob"), .role("a"), .role("role1"),
            .role("null"), .apiKey("tablet"), .group("golf"), .field(field("title")), .field(field("labels")),
            .field(field("stars")),
            .field(field("gone")),
        ]
        for action in [ClassAction.read, .update, .delete] {
            let count = [0, 1, 1, 2, 4].randomElement(using: &random)!
            let mode = ClassRule.Mode.allCases.randomElement(using: &random)!
            access.rules[action] = ClassRule(Array(subjects.shuffled(using: &random).prefix(count)), mode)
        }
        let relations = RelationEntries(
            Set(Subject.Relation.allCases.filter { _ in Bool.random(using: &random) }),
            in: "app"
        )
        return ClassRules(access, relations: relations) { SchemaCatalog.notes.note[$0]?.type }
    }
}

@Suite(.timeLimit(.minutes(60))) struct ClassRuleTests {
    /// What a rule about reading asks of a row for one who is logged in without a role.
    static let texts: [(ClassRule, String)] = [
        (ClassRule([]), "false"),
        (ClassRule([.users], .override), #""r"."_database" = '_public'"#),
        (ClassRule([.owner], .override), #""r"."_database" = '_public' AND ("r"."_owner" = $1)"#),
        (ClassRule([.role("a")], .override), "false"),
        (
            ClassRule([.role("a")]),
            #""r"."_database" = '_public' AND ("r"."_owner" = $1 OR coalesce("r"."_access" ?| (SELECT $2::text::text[]), false))"#
        ),
        (ClassRule([.owner], .require), #""r"."_database" = '_public' AND ("r"."_owner" = $1)"#),
        (
            ClassRule([.field(field("labels"))], .require),
            #""r"."_database" = '_public' AND ("r"."labels" @> ARRAY[$1::text]) AND ("r"."_access" IS NULL "#
                + #"OR "r"."_owner" = $2 OR coalesce("r"."_access" ?| (SELECT $3::text::text[]), false))"#
        ),
        (
            ClassRule([.field(field("title"))]),
            #""r"."_database" = '_public' AND ("r"."_owner" = $1 OR coalesce("r"."_access" ?| (SELECT $2::text::text[]), false) "#
                + #"OR ("r"."_access" IS NULL AND "r"."title" = $3))"#
        ),
    ]

    @Test(arguments: texts)
    func aRuleIsACondition(_ rule: ClassRule, _ text: String) throws {
        var access = ClassAccess()
        access.rules[.read] = rule
        let rules = ClassRules(access) { SchemaCatalog.notes.note[$0]?.type }
        let condition = RecordAccess(.ann).of(rules).read.condition(on: "r")
        #expect(condition.text == text)
        #expect(condition.bindings.failure == nil)
    }

    @Test func relationsAreAskedForWhereListsNameThemAlone() throws {
        let all = RelationEntries(Set(Subject.Relation.allCases), in: "app")
        let rules = ClassRules(ClassAccess(), relations: all) { _ in nil }
        let open = RecordAccess(.ann).of(rules)
        let friend = """
            ("r"."_access" ? 'relation:friend' AND EXISTS (SELECT FROM "app_internal"."_relation" AS "edge" \
            WHERE "edge"."user_id" = $3 AND "edge"."name" = 'friend') \
            AND (SELECT "edge"."mutual" FROM "app_internal"."_relation" AS "edge" \
            WHERE "edge"."user_id" = $4 AND "edge"."name" = 'friend' AND "edge"."other_id" = "r"."_owner"))
            """
        let followed = """
            ("r"."_access" ->> 'relation:followed' IN ('delete', 'write') AND EXISTS (SELECT FROM "app_internal"."_relation" AS "edge" \
            WHERE "edge"."other_id" = $8 AND "edge"."name" = 'follow') \
            AND (SELECT true FROM "app_internal"."_relation" AS "edge" \
            WHERE "edge"."other_id" = $9 AND "edge"."name" = 'follow' AND "edge"."user_id" = "r"."_owner"))
            """
        let read = open.read.condition(on: "r")
        #expect(read.text.contains(friend), "\(read.text)")
        #expect(read.bindings.failure == nil && read.bindings.count == 8)
        let delete = open.delete.condition(on: "r").text
        #expect(delete.contains(followed), "\(delete)")
        // To delete is to read, too, which every level includes: nothing is asked twice.
        #expect(!delete.contains("\"_access\" ? "))
        // Those that lists of the type do not name are not in its statements.
        let friends = ClassRules(ClassAccess(), relations: RelationEntries([.friend], in: "app")) { _ in nil }
        let text = RecordAccess(.ann).of(friends).read.condition(on: "r").text
        #expect(text.contains(friend) && !text.contains("follow"))
        for caller in [Caller.anonymous, .master] {
            let whole = RecordAccess(caller)
            #expect(whole.of(rules) == whole.standard)
        }
        let own = RecordAccess(in: .user("ann"), for: .writing, by: .ann)
        #expect(own.of(rules).read == own.standard.read && own.of(rules).delete == own.standard.delete)
    }

    @Test func aTypeWithoutRulesHasTheStatementsThatItHad() throws {
        var access = ClassAccess()
        access.rules[.create] = ClassRule([.role("writer")])
        let rules = ClassRules(access) { _ in nil }
        for caller in AccessConditionTests.callers {
            let whole = RecordAccess(caller)
            for action in AccessAction.allCases {
                let texts = [whole.standard, whole.of(rules)].map { $0.scope(of: action).condition(on: "r").text }
                #expect(texts[0] == texts[1])
                #expect(
                    texts[0] == AccessScope(caller: caller, action: action, database: .everyone).condition(on: "r").text
                )
            }
        }
    }

    @Test func aShapeOfARuleStandsForOneText() {
        var random = SeededGenerator(seed: 3)
        var texts: [AccessShape: String] = [:]
        for _ in 0..<2000 {
            let open = RecordAccess(AccessConditionTests.callers.randomElement(using: &random)!).of(
                ClassRules.random(&random)
            )
            for action in AccessAction.allCases {
                let scope = open.scope(of: action)
                let condition = scope.condition(on: "r")
                #expect(condition.bindings.failure == nil)
                #expect(condition.bindings.count == scope.shape.condition(on: "r").parameters.count)
                #expect(texts.updateValue(condition.text, forKey: scope.shape).map { $0 == condition.text } ?? true)
            }
        }
        #expect(texts.count > 50)
    }

    @Test func theDatabaseAndTheMemoryAdmitTheSameRecordsUnderRules() async throws {
        struct Row {
            var id: String
            var owner: UserID?
            var access: AccessList?
            var title: String?
            var labels: [String]?
        }
        try await withRecords { f in
            var random = SeededGenerator.forTest()
            let users: [UserID] = ["ann", "bob", "o'brien", "cafe\u{301}"]
            try await f.psql("ALTER TABLE note ADD COLUMN IF NOT EXISTS labels text[]")
            let rows = (0..<400).map { number in
                var row = Row(id: "\(number)")
                func chance(_ count: Int) -> Bool { Int.random(in: 0..<count, using: &random) == 0 }
                if !chance(4) { row.owner = users.randomElement(using: &random) }
                if !chance(3) {
                    let subjects: [Subject] = [
                        .everyone, .users, .user("bob"), .role("a"), .role("null"), .registered, .apiKey("tablet"),
                        .relation(.friend),
                        .relation(.follower), .relation(.followed),
                    ]
                    row.access = AccessList(
                        subjects.shuffled(using: &random).prefix(Int.random(in: 0..<3, using: &random)).map {
                            AccessEntry($0, AccessLevel.allCases.randomElement(using: &random)!)
                        }
                    )
                }
                if chance(2) { row.title = users.randomElement(using: &random)?.rawValue }
                if chance(2) { row.labels = users.shuffled(using: &random).prefix(2).map(\.rawValue) }
                return row
            }
            for row in rows {
                let list = row.access.map { PostgresJSONB($0.storedJSON) }
                _ = try await f.client.write(
                    """
                    INSERT INTO app.note (_id, _owner, _access, title, labels) VALUES (\(row.id), \(row.owner as UserID?), \
                    \(list as PostgresJSONB?), \(row.title as String?), \(row.labels as [String]?))
                    """
                )
            }
            struct Edge: Hashable {
                var from: UserID
                var relation: String
                var to: UserID
            }
            var edges: Set<Edge> = []
            for user in users {
                _ = try await f.client.write("INSERT INTO app.\"user\" (_id) VALUES (\(user)) ON CONFLICT DO NOTHING")
                _ = try await f.client.write(
                    "INSERT INTO app_internal._user (id) VALUES (\(user)) ON CONFLICT DO NOTHING"
                )
            }
            for from in users {
                for to in users where to != from {
                    for relation in ["friend", "follow"] where Int.random(in: 0..<3, using: &random) > 0 {
                        edges.insert(Edge(from: from, relation: relation, to: to))
                    }
                }
            }
            for edge in edges {
                _ = try await f.client.write(
                    "INSERT INTO app_internal._relation (user_id, name, other_id) VALUES (\(edge.from), \(edge.relation), \(edge.to))"
                )
            }
            func isRelated(_ user: UserID, _ relation: Subject.Relation, _ owner: UserID) -> Bool {
                func has(_ from: UserID, _ relation: String, _ to: UserID) -> Bool {
                    edges.contains(Edge(from: from, relation: relation, to: to))
                }
                return switch relation {
                case .friend: has(user, "friend", owner) && has(owner, "friend", user)
                case .follower: has(user, "follow", owner)
                case .followed: has(owner, "follow", user)
                }
            }
            var asked: Set<AccessShape> = []
            var byRelation = 0
            for _ in 0..<300 {
                let rules = ClassRules.random(&random)
                let user = users.randomElement(using: &random)!
                let roles: [RoleName] = ["a", "null", "role1"].filter { _ in Bool.random(using: &random) }
                let groups: [GroupName] = Bool.random(using: &random) ? ["golf"] : []
                let known = Caller(
                    kind: .user(user),
                    roles: roles,
                    groups: groups,
                    isRegistered: Bool.random(using: &random),
                    isVerified: Bool.random(using: &random)
                )
                var caller: Caller = Int.random(in: 0..<6, using: &random) == 0 ? .anonymous : known
                if Bool.random(using: &random) { caller.keyName = "tablet" }
                let open = RecordAccess(caller).of(rules)
                for action in AccessAction.allCases {
                    let scope = open.scope(of: action)
                    asked.insert(scope.shape)
                    let expected = Set(
                        rows.filter { row in
                            scope.admits(database: .everyone, owner: row.owner, access: row.access) { member, user in
                                member.isArray
                                    ? row.labels?.contains { $0.isSameText(as: user.rawValue) } ?? false
                                    : row.title?.isSameText(as: user.rawValue) ?? false
                            } isRelated: { user, relation, owner in
                                let holds = isRelated(user, relation, owner)
                                if holds { byRelation += 1 }
                                return holds
                            }
                        }.map(\.id)
                    )
                    let result = try await f.client.read(
                        "SELECT \"_id\" FROM app.note AS \"r\" WHERE \(scope.condition(on: "r"))"
                    )
                    let admitted = Set(try result.decodeColumn(0, as: String.self))
                    #expect(admitted == expected, "seed \(random.seed): \(caller) \(action) \(scope)")
                }
            }
            #expect(asked.count > 50)
            #expect(byRelation > 100)
        }
    }
}
