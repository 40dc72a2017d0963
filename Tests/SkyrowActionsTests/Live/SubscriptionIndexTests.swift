import SkyrowJSON
import SkyrowPostgres
import SkyrowQuery
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions
@testable import SkyrowModel

/// What decides about live queries without a database: the table of events, terms, index and limits.
@Suite struct SubscriptionIndexTests {
    // MARK: Events

    @Test(
        arguments: [
            (.hidden, .matching, true, .created), (.hidden, .matching, false, .entered),
            (.readable, .matching, false, .entered), (.matching, .matching, false, .updated),
            (.matching, .readable, false, .left), (.matching, .hidden, false, .deleted),
            (.hidden, .hidden, true, nil), (.hidden, .readable, true, nil), (.hidden, .readable, false, nil),
            (.readable, .readable, false, nil), (.readable, .hidden, false, nil),
        ] as [(LiveSight, LiveSight, Bool, LiveEventKind?)]
    )
    func eventsFollowFromWhatIsSeen(_ before: LiveSight, _ after: LiveSight, _ isInsert: Bool, _ kind: LiveEventKind?) {
        #expect(LiveEventKind.of(before: before, after: after, isInsert: isInsert) == kind)
    }

    // MARK: Terms

    static let note = RecordTable(
        name: type("note"),
        schema: "app",
        identifier: "note",
        columns: [
            column("title", .string, .text), column("stars", .integer, .int8), column("score", .number, .float8),
            column("done", .boolean, .bool), column("tags", .array(.string), .textArray), column("meta", .json, .jsonb),
            column("category", .reference(type("category")), .text),
        ]
    )

    private static func column(_ name: String, _ type: FieldType, _ oid: PostgresOID) -> RecordColumn {
        RecordColumn(field: field(name), identifier: try! SQLIdentifier(name), type: type, oid: oid)
    }

    private static let catalog = SchemaCatalog(schema: "app", version: 1, tables: [note])

    private static func resolved(_ predicate: RecordPredicate?, by caller: Caller = .anonymous) throws -> ResolvedQuery
    {
        let access = RecordAccess(in: .everyone, for: .reading, by: caller)
        var resolver = Resolver(schema: catalog, root: note, access: access)
        return try resolver.resolve(RecordQuery(type: note.name, predicate: predicate))
    }

    private static func predicate(_ path: String, _ comparison: ComparisonOperator, _ value: RecordValue)
        -> RecordPredicate
    {
        .comparison(comparison, .keyPath(FieldPath(unchecked: path)), .value(value))
    }

    private static func terms(_ predicate: RecordPredicate) throws -> Set<String>? {
        let resolved = try #require(try resolved(predicate).predicate)
        return SubscriptionTerms(resolved).map { Set($0.terms.map { "\($0.place) \($0.value)" }) }
    }

    @Test func equalityIsATerm() throws {
        #expect(try Self.terms(Self.predicate("title", .eq, .string("a")))?.count == 1)
        #expect(try Self.terms(Self.predicate("stars", .eq, .integer(3)))?.count == 1)
        #expect(try Self.terms(Self.predicate("title", .neq, .string("a"))) == nil)
        #expect(try Self.terms(Self.predicate("stars", .gt, .integer(3))) == nil)
        // A fraction equals no integer, and whatever the resolver makes of it, nothing is missed.
        let half = try Self.terms(Self.predicate("stars", .eq, .number(0.5)))
        #expect(half == nil || half?.isEmpty == true)
    }

    @Test func theRarestTermOfAConjunctionCounts() throws {
        let both = RecordPredicate.and([
            Self.predicate("title", .eq, .string("a")), Self.predicate("_owner_id", .eq, .string("ann")),
            Self.predicate("stars", .gt, .integer(1)),
        ])
        #expect(try Self.terms(both) == ["owner text(\"ann\")"])
        let either = RecordPredicate.or([
            Self.predicate("title", .eq, .string("a")), Self.predicate("stars", .eq, .integer(1)),
        ])
        #expect(try Self.terms(either)?.count == 2)
        let open = RecordPredicate.or([
            Self.predicate("title", .eq, .string("a")), Self.predicate("stars", .gt, .integer(1)),
        ])
        #expect(try Self.terms(open) == nil)
        let many = RecordPredicate.or((0..<9).map { Self.predicate("stars", .eq, .integer($0)) })
        #expect(try Self.terms(many) == nil)
    }

    // MARK: The index

    private static func record(_ id: String, _ fields: [String: StoredValue]) -> StoredRecord {
        StoredRecord(
            type: note.name,
            storedID: id,
            fields: Dictionary(uniqueKeysWithValues: fields.map { (field($0.key), $0.value) })
        )
    }

    @Test func aChangeFindsTheGroupsOfItsValuesAlone() throws {
        var index = SubscriptionIndex(scanLimit: 10)
        for number in 0..<1000 {
            let predicate = try Self.resolved(Self.predicate("title", .eq, .string("t\(number)"))).predicate
            index.insert(number, in: .everyone, of: Self.note.name, predicate)
        }
        index.insert(2000, in: .everyone, of: Self.note.name, nil)
        index.insert(3000, in: .user("ann"), of: Self.note.name, nil)
        let old = Self.record("1", ["title": .scalar(.text("t7"))])
        let new = Self.record("1", ["title": .scalar(.text("t8"))])
        #expect(index.candidates(of: Self.note.name, [new, old]) == [7, 8, 2000])
        #expect(index.candidates(of: type("other"), [new, old]).isEmpty)
        var own = new
        own.database = .user("ann")
        #expect(index.candidates(of: Self.note.name, [own]) == [3000])
        let predicate = try Self.resolved(Self.predicate("title", .eq, .string("t7"))).predicate
        index.remove(7, in: .everyone, of: Self.note.name, predicate)
        index.remove(2000, in: .everyone, of: Self.note.name, nil)
        #expect(index.candidates(of: Self.note.name, [new, old]) == [8])
    }

    @Test func arraysAreFoundByTheirElements() throws {
        var index = SubscriptionIndex(scanLimit: 0)
        let predicate = try Self.resolved(Self.predicate("tags", .contains, .string("red"))).predicate
        #expect(index.hasRoom(in: .everyone, of: Self.note.name, for: predicate))
        index.insert(1, in: .everyone, of: Self.note.name, predicate)
        let red = Self.record("1", ["tags": .array([.text("blue"), .text("red")])])
        let blue = Self.record("1", ["tags": .array([.text("blue"), nil])])
        #expect(index.candidates(of: Self.note.name, [red]) == [1])
        #expect(index.candidates(of: Self.note.name, [blue]).isEmpty)
    }

    @Test func queriesWithoutATermAreBounded() throws {
        var index = SubscriptionIndex(scanLimit: 2)
        for number in 0..<2 {
            #expect(index.hasRoom(in: .everyone, of: Self.note.name, for: nil))
            index.insert(number, in: .everyone, of: Self.note.name, nil)
        }
        #expect(!index.hasRoom(in: .everyone, of: Self.note.name, for: nil))
        #expect(index.hasRoom(in: .everyone, of: type("other"), for: nil))
        #expect(index.hasRoom(in: .user("ann"), of: Self.note.name, for: nil))
        let keyed = try Self.resolved(Self.predicate("title", .eq, .string("a"))).predicate
        #expect(index.hasRoom(in: .everyone, of: Self.note.name, for: keyed))
        let error = SkyrowError.tooManyScans(of: Self.note.name, limit: 2, references: [field("category")])
        #expect(error.code == .overloaded && error.message.contains("category"))
    }

    @Test func whatIsFoundIsAllThatMatches() throws {
        var random = SeededGenerator(seed: 7)
        let values: [RecordValue] = [.string("a"), .string("b"), .string("e\u{301}"), .string("\u{E9}")]
        for _ in 0..<400 {
            let predicate = randomPredicate(values, depth: 2, &random)
            guard let query = try? Self.resolved(predicate), query.isAboutRecordsAlone, let resolved = query.predicate
            else { continue }
            var index = SubscriptionIndex(scanLimit: 10)
            index.insert(1, in: .everyone, of: Self.note.name, resolved)
            for value in values {
                guard case .string(let text) = value else { continue }
                for stars in 0..<3 {
                    let record = Self.record(
                        text,
                        [
                            "title": .scalar(.text(text)), "stars": .scalar(.integer(Int64(stars))),
                            "tags": .array([.text(text)]),
                        ]
                    )
                    if MemoryInterpreter(query).truth(of: record) == .yes {
                        #expect(index.candidates(of: Self.note.name, [record]) == [1], "\(predicate)")
                    }
                }
            }
        }
    }

    private func randomPredicate(
        _ values: [RecordValue],
        depth: Int,
        _ random: inout SeededGenerator
    ) -> RecordPredicate {
        switch Int.random(in: 0..<(depth > 0 ? 7 : 5), using: &random) {
        case 0: Self.predicate("title", .eq, values.randomElement(using: &random)!)
        case 1: Self.predicate("stars", .eq, .integer(Int64.random(in: 0..<3, using: &random)))
        case 2: Self.predicate("tags", .contains, values.randomElement(using: &random)!)
        case 3: Self.predicate("stars", .gt, .integer(1))
        case 4: Self.predicate("_id", .eq, values.randomElement(using: &random)!)
        case 5:
            .and((0..<2).map { _ in randomPredicate(values, depth: depth - 1, &random) })
        default:
            .or((0..<2).map { _ in randomPredicate(values, depth: depth - 1, &random) })
        }
    }

    // MARK: Keys

    @Test func theOrderOfPartsMakesNoDifference() throws {
        func key(_ predicate: RecordPredicate) throws -> PredicateKey {
            PredicateKey(try #require(try Self.resolved(predicate).predicate))
        }
        let a = Self.predicate("title", .eq, .string("a"))
        let b = Self.predicate("stars", .gt, .integer(1))
        #expect(try key(.and([a, b])) == key(.and([b, a])))
        #expect(try key(.and([a, .and([b, a])])) == key(.and([a, b])))
        #expect(try key(.and([a])) == key(a))
        #expect(try key(.and([a, b])) != key(.or([a, b])))
        #expect(try key(.not(a)) != key(a))
    }

    // MARK: Members

    @Test func membersAreThoseOfEachGroup() {
        var membership = Membership()
        var one = Self.record("1", ["title": .scalar(.text("a"))])
        one.revision = 10
        func change(to record: StoredRecord?, for group: Int, at moment: Int64? = nil) {
            let moment = moment.map { LiveScene.moment($0, at: 1) }
            membership.change(one.type, "1", to: record, in: nil, for: group, at: moment)
        }
        for group in 1...2 { membership.read(one, in: nil, for: group) }
        #expect(membership.known(one.type, "1")?.allGroups == [1, 2])
        var owned = one
        owned.owner = "ann"
        owned.revision = 20
        membership.read(owned, in: nil, for: 3)
        // Each group knows what was read for it.
        #expect(membership.known(one.type, "1")?.forms(of: 1).map(\.record.owner) == [nil])
        #expect(membership.known(one.type, "1")?.forms(of: 3).map(\.record.owner) == ["ann"])
        change(to: owned, for: 1)
        #expect(membership.known(one.type, "1")?.forms(of: 1).map(\.record.owner) == ["ann"])
        change(to: nil, for: 1)
        #expect([1, 2, 3].map { membership.count(of: $0) } == [0, 1, 1])
        membership.removeAll(of: 2)
        #expect(membership.known(one.type, "1")?.allGroups == [3])
        membership.removeAll(of: 3)
        #expect(membership.known(one.type, "1") == nil)
    }

    /// What a change says that is older than what was read, and what the next one says.
    @Test(
        arguments: [
            (older: nil, newer: nil, during: [30], after: []), (nil, 50, [30], [50]), (20, nil, [20, 30], []),
            (20, 50, [20, 30], [50]),
        ] as [(older: Int64?, newer: Int64?, during: [Int64], after: [Int64])]
    )
    func aMemberIsNotForgottenForAnOlderChange(_ older: Int64?, _ newer: Int64?, _ during: [Int64], _ after: [Int64]) {
        var membership = Membership()
        func form(_ revision: Int64) -> StoredRecord {
            var record = Self.record("1", [:])
            record.revision = revision
            return record
        }
        func revisions() -> [Int64] {
            (membership.known(form(1).type, "1")?.forms(of: 1) ?? []).compactMap(\.record.revision).sorted()
        }
        membership.read(form(30), in: nil, for: 1)
        let type = form(1).type
        membership.change(type, "1", to: older.map(form), in: nil, for: 1, at: LiveScene.moment(25, at: 1))
        #expect(revisions() == during)
        membership.change(type, "1", to: newer.map(form), in: nil, for: 1, at: LiveScene.moment(60, at: 1))
        #expect(revisions() == after)
        #expect(membership.count(of: 1) == after.count)
    }

    /// A page may lack the field by which a permission means users: who got it holds the record, whatever it shows.
    @Test func aFormThatLacksFieldsIsSeenByThoseWhoGotIt() {
        var membership = Membership()
        let record = Self.record("1", [:])
        func audience(_ user: UserID) -> LiveAudience {
            let scope = AccessScope(
                database: .everyone,
                MemberField(field("title"), of: .string).map { AccessCondition(any: [.member($0)]) } ?? .never,
                Audience(user: user)
            )
            return LiveAudience(SubscriptionGroup.AudienceKey(read: scope, fields: .unrestricted))
        }
        let (ann, bob) = (audience("ann"), audience("bob"))
        func seen() -> [Bool] {
            [ann, bob].map { reader in
                (membership.known(record.type, "1")?.forms(of: 1) ?? []).contains {
                    $0.isSeen(by: reader) { _, _ in false }
                }
            }
        }
        membership.read(record, in: nil, for: 1, by: ann)
        #expect(seen() == [true, false])
        membership.read(Self.record("1", ["title": .scalar(.text("bob"))]), in: Self.namingTitle, for: 1)
        #expect(seen() == [true, true])
        membership.change(record.type, "1", to: nil, in: nil, for: 1, at: nil)
        #expect(seen() == [false, false])
    }

    /// A type whose rules mean the user in the title.
    private static var namingTitle: RecordTable {
        var access = ClassAccess()
        access.rules[.read] = ClassRule([.field(field("title"))], .require)
        var rules = TypeRules.none
        rules.classes = ClassRules(access) { _ in .string }
        let known = LiveScene.table
        return RecordTable(
            name: known.name,
            schema: known.schema,
            identifier: known.identifier,
            columns: known.columns,
            rules: rules
        )
    }

    @Test func theFormsOfARecordAreBounded() {
        var membership = Membership()
        let taken = (0..<100).filter { number in
            var record = Self.record("1", [:])
            record.revision = Int64(number)
            return membership.read(record, in: nil, for: 1)
        }
        #expect(taken.count == Membership.maximumForms + 1)
        // One that is known takes no room.
        var first = Self.record("1", [:])
        first.revision = 0
        #expect(membership.read(first, in: nil, for: 1) && membership.read(first, in: nil, for: 2))
    }
}
