import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowQuery
@testable import SkyrowStore

/// SQL and memory answer the same for every predicate and record, and order records alike.
@Suite(.timeLimit(.minutes(60))) struct AgreementTests {
    private static let callers: [(Caller, DatabaseScope)] = [
        (.anonymous, .everyone), (Caller.anonymous.withKey("tablet"), .everyone), (.ann, .everyone),
        (Caller.ann.withKey("tablet"), .everyone), (Caller.bob.withKey("phone"), .everyone), (.bob, .everyone),
        (Caller(kind: .user("carl"), roles: ["r1"], groups: ["golf"], isRegistered: true, isVerified: true), .everyone),
        (Caller(kind: .user("Ann"), roles: (0..<8).map { "r\($0)" }), .everyone),
        (.ann, .user("ann")), (.bob, .user("bob")), (.master, .everyone), (.master, .user("ann")), (.master, .union),
    ]

    private struct Setting {
        let world: AgreementWorld
        let store: RecordStore

        var catalog: SchemaCatalog { store.cache.current }

        func interpreter(_ query: ResolvedQuery) -> MemoryInterpreter {
            MemoryInterpreter(
                query,
                lookup: { world.record($0, $1) },
                all: { world.all($0) },
                isRelated: { world.isRelated($0, $1) }
            )
        }
    }

    /// A store whose database has the records of a world.
    private func withWorld(
        _ url: String,
        _ random: inout SeededGenerator,
        readers: [FieldName: FieldRule.Readers] = FieldRules.loginKeyReaders,
        _ body: @Sendable (Setting, inout SeededGenerator) async throws -> Void
    ) async throws {
        let world = AgreementWorld(&random)
        let start = random
        try await withPostgresClient(url) { client in
            let store = RecordStore(
                client: client,
                schema: "app",
                mode: .development,
                loginKeyReaders: readers,
                logger: .silent
            )
            try await store.prepare()
            try await client.withTransaction { transaction in
                _ = try await transaction.query(PostGIS.requirement)
                try await transaction.executeScript(
                    "SET LOCAL search_path = app, app_internal, pg_temp; \(SQL(trustedText: AgreementWorld.tables))"
                )
            }
            try await world.insert(with: client)
            try await store.cache.reload()
            var random = start
            try await body(Setting(world: world, store: store), &random)
        }
    }

    @Test func everyPredicateIsTrueOfTheSameRecords() async throws {
        try await withTemporaryDatabase(template: .migratedWithPlaces) { url in
            var random = SeededGenerator.forTest()
            try await withWorld(url, &random) { setting, random in
                var pairs = 0
                while pairs < seededCases(25_000) { pairs += try await judge(setting, predicates: 8, &random) }
            }
        }
    }

    /// Judges all things by some predicates in one statement; answers how many pairs of the two that were.
    ///
    /// - Parameter hidesFields: whether a predicate may be refused since it names a field that is hidden from the caller.
    private func judge(
        _ setting: Setting,
        predicates count: Int,
        _ random: inout SeededGenerator,
        hidesFields: Bool = false
    ) async throws -> Int {
        let (caller, scope) = random.element(Self.callers)
        let catalog = setting.catalog.visible(to: FieldAccess(caller))
        let root = try #require(catalog[AgreementWorld.thing])
        var resolver = Resolver(schema: catalog, root: root, access: RecordAccess(caller, in: scope))
        var generator = AgreementPredicates(world: setting.world, caller: caller, random: random)
        var predicates: [(predicate: Predicate, resolved: ResolvedPredicate)] = []
        for _ in 0..<count {
            let size = generator.random.oneIn(4) ? Int.random(in: 1...30, using: &generator.random) : 2
            generator.nears = 1
            let predicate = generator.predicate(size: size)
            resolver.use = PredicateUse()
            let before = resolver
            var refusal: SkyrowError?
            do throws(SkyrowError) {
                predicates.append((predicate, try resolver.predicate(predicate)))
            } catch {
                refusal = error
            }
            guard let refusal else { continue }
            guard hidesFields, refusal.code == .recordQueryDenied else {
                Issue.record("\(predicate) is refused: \(refusal)")
                throw refusal
            }
            resolver = before
        }
        random = generator.random
        guard !predicates.isEmpty else { return 0 }
        let visibility = resolver.visibility
        let text = QueryText(
            root: root,
            joined: resolver.joinedTypes,
            subqueries: .init(tables: resolver.subqueries, visibility: visibility)
        )
        var statement: SQL = "SELECT \"r\".\"_id\""
        for predicate in predicates {
            statement += ", (\(text.condition(predicate.resolved))), (\(text.matches(predicate.resolved))) IS TRUE"
        }
        statement += " FROM \(root.qualifiedName) AS \"r\""
        for (number, join) in resolver.joins.enumerated() { statement += " \(text.join(number, join, visibility))" }
        let result = try await setting.store.client.read(statement)
        for (place, predicate) in predicates.enumerated() {
            let query = ResolvedQuery(
                type: root.name,
                predicate: predicate.resolved,
                sort: [],
                inclusions: [],
                joins: resolver.joins,
                visibility: visibility,
                limit: 0,
                offset: 0,
                countsMatches: false
            )
            let interpreter = setting.interpreter(query)
            for row in 0..<result.rowCount {
                let id = try result.decode(row: row, column: 0, as: String.self)
                let record = try #require(setting.world.record(AgreementWorld.thing, id))
                let stored = try result.decode(row: row, column: 2 * place + 1, as: Bool?.self)
                let isMatch = try result.decode(row: row, column: 2 * place + 2, as: Bool.self)
                let truth = interpreter.truth(of: record)
                if truth != (stored.map { Truth($0) } ?? .unknown) || isMatch != (truth == .yes) {
                    Issue.record(
                        """
                        seed \(random.seed): \(predicate.predicate) is \(truth) in memory and \
                        \(stored.map { "\($0)" } ?? "NULL") in SQL, where it \(isMatch ? "matches" : "does not match"), for \
                        \(record), asked by \(caller) in \(scope): \(text.condition(predicate.resolved).text); \
                        \(text.matches(predicate.resolved).text)
                        """
                    )
                    return .max / 2
                }
            }
        }
        return result.rowCount * predicates.count
    }

    @Test func queriesAnswerTheSameRecordsInTheSameOrder() async throws {
        try await withTemporaryDatabase(template: .migratedWithPlaces) { url in
            var random = SeededGenerator.forTest()
            try await withWorld(url, &random) { setting, random in
                for _ in 0..<seededCases(60) { try await order(setting, &random) }
            }
        }
    }

    private func order(_ setting: Setting, _ random: inout SeededGenerator) async throws {
        let (caller, scope) = random.element(Self.callers)
        var generator = AgreementPredicates(world: setting.world, caller: caller, random: random)
        var query = RecordQuery(type: AgreementWorld.thing, sort: generator.sort())
        if generator.random.oneIn(2) { query.predicate = generator.predicate(size: 3) }
        if query.sort.isEmpty, generator.random.oneIn(2) {
            query.predicate = .and([generator.near(path("at")), query.predicate ?? .and([])])
        }
        query.countsMatches = generator.random.oneIn(3)
        random = generator.random
        let catalog = setting.catalog.visible(to: FieldAccess(caller))
        let root = try #require(catalog[AgreementWorld.thing])
        var resolver = Resolver(schema: catalog, root: root, access: RecordAccess(caller, in: scope))
        var resolution: ResolvedQuery?
        var refusal: SkyrowError?
        do throws(SkyrowError) { resolution = try resolver.resolve(query) } catch { refusal = error }
        if let refusal {
            // The service refuses it as well.
            guard refusal.code == .recordQueryDenied else { throw refusal }
            let refused = await #expect(throws: SkyrowError.self) {
                try await setting.store.query(query, in: scope, caller: caller)
            }
            #expect(refused == refusal)
            return
        }
        let resolved = try #require(resolution)
        let interpreter = setting.interpreter(resolved)
        let expected = setting.world.all(AgreementWorld.thing).filter(interpreter.matches)
            .sorted(by: interpreter.isOrdered)
        let answer = try await setting.store.query(query, in: scope, caller: caller)
        let ids = answer.records.map { $0.collected()?.id.id ?? "" }
        #expect(
            ids == expected.map { StoredID.wireID(of: $0.storedID) },
            "seed \(random.seed): \(query), asked by \(caller) in \(scope)"
        )
        if query.countsMatches { #expect(answer.count == expected.count) }
        // The pages are as the whole, whichever end they are read from.
        let reader = PageReader(store: setting.store, caller: caller, scope: scope)
        let size = random.element([2, 7])
        let isBackwards = random.oneIn(2) && (!query.sort.isEmpty || resolver.nearest != nil)
        let paged = try await reader.ids(query, by: size, isBackwards: isBackwards)
        #expect(paged == ids, "seed \(random.seed): \(query), \(size) a page, asked by \(caller) in \(scope)")
    }

    /// The rules of types decide alike in both, on whatever way a record is reached.
    @Test func underRulesOfTypesTheSameIsAnswered() async throws {
        try await withTemporaryDatabase(template: .migratedWithPlaces) { url in
            var random = SeededGenerator.forTest()
            try await withWorld(url, &random) { setting, random in
                for _ in 0..<seededCases(6) {
                    for (name, member) in [(AgreementWorld.thing, "labels"), (AgreementWorld.place, "title")] {
                        let subjects: [Subject] = [
                            .everyone, .users, .owner, .user("ann"), .role("r1"), .role("r5"), .field(field(member)),
                            .group("golf"), .registered, .apiKey("tablet"),
                        ]
                        let count = random.element([0, 1, 1, 2, 3])
                        var change = ClassAccessChange(type: name)
                        change.rules[.read] = ClassRule(
                            Array(subjects.shuffled(using: &random).prefix(count)),
                            random.element(ClassRule.Mode.allCases)
                        )
                        _ = try await setting.store.classAccess.change(change)
                    }
                    for _ in 0..<4 { _ = try await judge(setting, predicates: 8, &random) }
                    for _ in 0..<8 { try await order(setting, &random) }
                }
            }
        }
    }

    /// What a caller sees in its own records only is missing from others in both, and what it sees in none is asked about in neither.
    @Test func underRulesOfFieldsTheSameIsAnswered() async throws {
        try await withTemporaryDatabase(template: .migratedWithPlaces) { url in
            var random = SeededGenerator.forTest()
            // The setting opens what rules then narrow.
            let readers = FieldRules.loginKeyReaders.merging([.verified: .everyone]) { $1 }
            try await withWorld(url, &random, readers: readers) { setting, random in
                var pairs = 0
                for _ in 0..<seededCases(6) {
                    for (name, fields) in [
                        (
                            AgreementWorld.thing,
                            AgreementWorld.thingFields.map(\.name) + AgreementWorld.relations.map(\.name)
                        ),
                        (AgreementWorld.place, AgreementWorld.placeFields.map(\.name)),
                    ] {
                        var change = ClassAccessChange(type: name)
                        let users = Subject.field(field(name == AgreementWorld.thing ? "labels" : "title"))
                        for member in fields {
                            let subjects: FieldSubjects? =
                                switch Int.random(in: 0..<12, using: &random) {
                                case 0..<6: [.owner]
                                case 6: [.owner, .role("r1"), .group("golf"), .apiKey("phone")]
                                case 7: random.oneIn(2) ? [.users] : [.apiKey("tablet")]
                                case 9: [users]
                                case 10: [.owner, users]
                                case 8 where random.oneIn(4): []
                                case 11:
                                    FieldSubjects([
                                        .init(.owner, allows: false), .init(users, allows: false), .init(.users),
                                    ])
                                default: nil
                                }
                            change.fields[field(member), default: [:]].updateValue(subjects, forKey: .read)
                            // What is asked, apart from what is seen.
                            for use in [FieldUse.compare, .discover] {
                                let asked: FieldSubjects? =
                                    switch Int.random(in: 0..<10, using: &random) {
                                    case 0: [.users]
                                    case 1: [.owner]
                                    case 3: [.owner, .apiKey("tablet")]
                                    case 2: FieldSubjects([.init(users, allows: false), .init(.users)])
                                    default: nil
                                    }
                                change.fields[field(member), default: [:]].updateValue(asked, forKey: use)
                            }
                        }
                        // Behind these, rules of every field; those of every type are of some names.
                        for use in [FieldUse.read, .compare] {
                            change.everyField.updateValue(random.oneIn(3) ? [.owner, users] : nil, forKey: use)
                        }
                        if random.oneIn(2) {
                            _ = try await setting.store.client.write(
                                """
                                WITH gone AS (DELETE FROM app_internal._field_rule WHERE type = '*' AND field <> \(random.element(fields)))
                                INSERT INTO app_internal._field_rule VALUES ('*', \(random.element(fields)), 'read', '{owner}')
                                ON CONFLICT DO NOTHING
                                """
                            )
                        }
                        change.rules.updateValue(
                            random.oneIn(2)
                                ? ClassRule([users]) : nil,
                            forKey: .read
                        )
                        _ = try await setting.store.classAccess.change(change)
                    }
                    var ofProfiles = ClassAccessChange(type: .user)
                    let seers: [FieldSubjects?] = [
                        nil, [.users], [.owner], [], [.role("r1"), .owner], [.apiKey("tablet")],
                    ]
                    ofProfiles.fields[.verified, default: [:]].updateValue(random.element(seers), forKey: .read)
                    _ = try await setting.store.classAccess.change(ofProfiles)
                    for _ in 0..<4 { pairs += try await judge(setting, predicates: 8, &random, hidesFields: true) }
                    for _ in 0..<8 { try await order(setting, &random) }
                }
                #expect(pairs > seededCases(1500))
            }
        }
    }

    /// A database whose own collation is that of a language, with all that this changes.
    @Test func aDatabaseOfALanguageAnswersAsAnyOther() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            let name = "\(database.name)_sv"
            try await database.psql(
                """
                CREATE DATABASE \(name) TEMPLATE template0 ENCODING 'UTF8' LOCALE_PROVIDER icu ICU_LOCALE 'sv' LOCALE 'C.UTF-8'
                """
            )
            let language = TemporaryDatabase(cluster: database.cluster, name: name)
            do {
                var random = SeededGenerator.forTest()
                try await withWorld(language.url, &random) { setting, random in
                    #expect(
                        try await language.psql("SELECT 'ö' < 'z', 'ö' < 'z' COLLATE \"C\", app._fold('Ö')") == "f|f|ö"
                    )
                    #expect(setting.catalog[AgreementWorld.thing]?[field("alias")]?.collation == .database)
                    var pairs = 0
                    while pairs < seededCases(4000) { pairs += try await judge(setting, predicates: 8, &random) }
                    for _ in 0..<seededCases(20) { try await order(setting, &random) }
                }
            }
            try await database.psql("DROP DATABASE \(name) WITH (FORCE)")
        }
    }

    @Test func everyCodePointIsFoldedAlike() async throws {
        try await withTemporaryDatabase(template: .migrated) { url in
            try await withPostgresClient(url) { client in
                var folded: [UInt32: String] = [:]
                // A plane at a time, none of which takes long.
                for plane in Int32(0)...16 {
                    let result = try await client.read(
                        """
                        SELECT number, app._fold(chr(number))
                        FROM generate_series(greatest(1, \(plane) * 65536), \(plane) * 65536 + 65535) AS number
                        WHERE number NOT BETWEEN 55296 AND 57343 AND app._fold(chr(number)) <> chr(number)
                        """
                    )
                    for row in 0..<result.rowCount {
                        let number = try result.decode(row: row, column: 0, as: Int32.self)
                        folded[UInt32(number)] = try result.decode(row: row, column: 1)
                    }
                }
                var differing: [UInt32] = []
                for number in UInt32(1)...0x10FFFF {
                    guard let scalar = Unicode.Scalar(number) else { continue }
                    let text = String(scalar)
                    // A server of a later Unicode folds letters that the table does not have.
                    let isSame = TextFolding.fold(text).isSameText(as: folded[number] ?? text)
                    if !isSame, TextFolding.isKnown(Int(number)) { differing.append(number) }
                }
                #expect(differing.isEmpty)
                let words = ["ΟΔΥΣΣΕΥΣ", "Σ", "İstanbul", "STRASSE", "Straße", "ǅ", "ÀÉ", "e\u{301}Σ"]
                for word in words {
                    let server = try await client.read("SELECT app._fold(\(word))")
                    #expect(
                        TextFolding.fold(word).isSameText(as: try server.decode(row: 0, column: 0, as: String.self))
                    )
                }
            }
        }
    }
}
