import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowStore

/// Files that no record refers to are marked by one look and collected by a later one.
@Suite(.timeLimit(.minutes(60))) struct AssetCollectionTests {
    /// So long that the time that a test takes does not matter.
    private static let grace = Duration.seconds(100_000)

    // MARK: Decisions

    @Test func aPageIsJudgedByWhatIsInsideOfJSON() {
        let page = AssetPage(last: "i", fresh: ["a", "b"], waiting: ["c", "d"], due: ["e", "f"], held: ["g", "h"])
        let nothing = page.verdict { _ in false }
        #expect(nothing == AssetPage.Verdict(marked: ["a", "b"], unmarked: ["g", "h"], due: ["e", "f"]))
        let some = page.verdict { ["b", "d", "f", "h"].contains($0) }
        #expect(some == AssetPage.Verdict(marked: ["a"], unmarked: ["g", "h", "d", "f"], due: ["e"]))
        let all = page.verdict { _ in true }
        #expect(all == AssetPage.Verdict(marked: [], unmarked: ["g", "h", "c", "d", "e", "f"], due: []))
    }

    @Test(arguments: [0, 1, 3, 1000, 20_000])
    func aFilterContainsWhatWasInserted(_ count: Int) {
        var mistakes = 0
        for seed in 0..<4 as Range<UInt64> {
            var filter = AssetNameFilter(expecting: count, seed: seed)
            for number in 0..<count { filter.insert(file(number).rawValue) }
            #expect((0..<count).allSatisfy { filter.contains(file($0).rawValue) })
            mistakes += (count..<count + 1000).filter { filter.contains(file($0).rawValue) }.count
        }
        #expect(mistakes <= 16)
    }

    /// What one look takes for a reference by mistake, another one does not.
    @Test func filtersOfOtherSeedsMakeOtherMistakes() {
        func mistakes(_ seed: UInt64) -> Set<Int> {
            // Far more names than were expected.
            var filter = AssetNameFilter(expecting: 20, seed: seed)
            for number in 0..<100 { filter.insert(file(number).rawValue) }
            return Set((100..<1100).filter { filter.contains(file($0).rawValue) })
        }
        let (one, other) = (mistakes(1), mistakes(2))
        #expect(!one.isEmpty && !other.isEmpty)
        #expect(one.intersection(other).count < min(one.count, other.count))
    }

    // MARK: Looks

    @Test func anUnreferencedFileIsCollectedByALookAfterTheGrace() async throws {
        try await withAssets { f in
            try await f.insert((0..<3).map { file($0) }, owner: "ann")
            try await f.psql("INSERT INTO card (_id, poster) VALUES ('1', '\(file(0))')")
            #expect(try await f.assets.look(grace: Self.grace, isDryRun: true) == AssetLook(marked: 2))
            #expect(try await f.psql("SELECT count(unreferenced_since) FROM _asset") == "0")
            #expect(try await f.assets.look(grace: Self.grace) == AssetLook(marked: 2))
            // A look within the grace changes nothing.
            try await f.pass(90_000)
            #expect(try await f.assets.look(grace: Self.grace) == AssetLook())
            // A record refers to one of the two meanwhile.
            try await f.psql("UPDATE card SET scan = '\(file(1))'")
            try await f.pass(11_000)
            #expect(try await f.assets.look(grace: Self.grace, isDryRun: true) == AssetLook(unmarked: 1, collected: 1))
            #expect(try await f.names(in: "_garbage").isEmpty)
            #expect(try await f.assets.look(grace: Self.grace) == AssetLook(unmarked: 1, collected: 1))
            #expect(try await f.names(in: "_garbage") == [file(2).rawValue])
            #expect(try await f.psql("SELECT count(*), count(unreferenced_since) FROM _asset") == "2|0")
            // From here on its grace begins again.
            try await f.psql("DELETE FROM card")
            #expect(try await f.assets.look(grace: Self.grace) == AssetLook(marked: 2))
        }
    }

    /// Each way to refer to a file keeps it; what only looks like one does not.
    @Test(
        arguments: [
            ("INSERT INTO card (_id, poster) VALUES ('1', '$')", true),
            ("INSERT INTO card (_id, _database, scan) VALUES ('~ann/1', 'ann', '$')", true),
            (#"INSERT INTO card (_id, meta) VALUES ('1', '{"$type": "asset", "$name": "$"}')"#, true),
            (
                #"INSERT INTO card (_id, _database, meta) VALUES ('~ann/1', 'ann', '[[{"a": {"$name": "$", "$type": "asset", "b": 1}}]]')"#,
                true
            ),
            (
                #"INSERT INTO card (_id, meta) VALUES ('1', '{"$type": "asset", "$name": 1, "a": {"$type": "asset", "$name": "$"}}')"#,
                true
            ),
            (
                #"INSERT INTO card (_id, parts) VALUES ('1', ARRAY['1', NULL, '[{"$type": "asset", "$name": "$"}]']::jsonb[])"#,
                true
            ),
            (
                #"CREATE TABLE other (note jsonb); INSERT INTO other VALUES (NULL), ('[{"$type": "asset", "$name": "$"}]')"#,
                true
            ),
            (
                "CREATE TABLE other (file text REFERENCES _asset ON DELETE CASCADE); INSERT INTO other VALUES (NULL), ('$')",
                true
            ),
            ("INSERT INTO card (_id, title) VALUES ('1', '$')", false),
            (
                #"INSERT INTO card (_id, meta) VALUES ('1', '["$", {"$name": "$"}, {"$type": "ref", "$name": "$"}]')"#,
                false
            ),
            (#"INSERT INTO card (_id, meta) VALUES ('1', '[{"$type": "asset"}, {"$name": "$"}]')"#, false),
            (#"INSERT INTO card (_id, meta) VALUES ('1', '{"$type": "asset", "$name": ["$"]}')"#, false),
            (
                #"""
                CREATE SCHEMA other; CREATE TABLE other.card (meta jsonb);
                INSERT INTO other.card VALUES ('{"$type": "asset", "$name": "$"}')
                """#,
                false
            ),
        ]
    )
    func aReferenceKeepsAFile(_ statement: String, _ isKept: Bool) async throws {
        try await withAssets { f in
            try await f.insert([file(1)], owner: "ann")
            // `$` stands for the name where no word follows it.
            try await f.psql(statement.replacing(/\$(?![a-z])/, with: file(1).rawValue))
            #expect(try await f.assets.look(grace: .zero) == AssetLook(marked: isKept ? 0 : 1))
            #expect(try await f.assets.look(grace: .zero) == AssetLook(collected: isKept ? 0 : 1))
            #expect(try await f.names(in: "_garbage").isEmpty == isKept)
        }
    }

    /// Many files need several statements for each step.
    @Test func aLookReadsAllFiles() async throws {
        try await withAssets { f in
            try await f.psql(
                """
                INSERT INTO _asset (name, filename, content_type, size, state, stored_at)
                SELECT gen_random_uuid() || '-a', 'a', 'a/b', 1, 'stored', now() FROM generate_series(1, 11000);
                INSERT INTO card (_id, poster) SELECT name, name FROM _asset ORDER BY name LIMIT 6000;
                INSERT INTO card (_id, meta) SELECT 'x' || name, jsonb_build_array(jsonb_build_object('$type', 'asset', '$name', name))
                FROM _asset ORDER BY name DESC LIMIT 4000;
                INSERT INTO card (_id, meta) SELECT 'y' || number, '{}' FROM generate_series(1, 6000) AS number;
                """
            )
            let first = try await f.assets.look(grace: .zero)
            // The filter may take a few files for referenced ones.
            #expect((990...1000).contains(first.marked) && first.collected == 0)
            let second = try await f.assets.look(grace: .zero)
            #expect((980...1000).contains(second.collected) && second.unmarked <= first.marked - second.collected)
            #expect(try await f.psql("SELECT count(*) FROM _garbage") == "\(second.collected)")
            let lost = try await f.psql(
                """
                SELECT count(*) FROM card WHERE coalesce(poster, meta #>> '{0,$name}') IN (SELECT name FROM _garbage)
                """
            )
            #expect(lost == "0")
        }
    }

    /// A save that has begun keeps a file that is due, and the look waits for nothing.
    @Test func aSaveThatHasBegunKeepsItsFile() async throws {
        try await withAssets { f in
            try await f.insert([file(1), file(2)], owner: "ann")
            #expect(try await f.assets.look(grace: .zero).marked == 2)
            try await withPostgresClient(f.records.database.url) { other in
                try await other.withTransaction { transaction in
                    try await transaction.execute(
                        "INSERT INTO app.card (_id, poster) VALUES ('1', \(file(1).rawValue))"
                    )
                    #expect(try await f.assets.look(grace: .zero) == AssetLook(collected: 1))
                }
            }
            #expect(try await f.assets.look(grace: .zero) == AssetLook(unmarked: 1))
            #expect(try await f.names(in: "_asset") == [file(1).rawValue])
            await #expect(throws: (any Error).self) {
                try await f.psql("INSERT INTO card (_id, poster) VALUES ('2', '\(file(2))')")
            }
        }
    }

    /// What a caller may put into a record has the whole grace again, whether the save follows or not.
    @Test func aFileThatIsAboutToBeUsedIsNotMarked() async throws {
        try await withAssets { f in
            try await f.insert([file(1), file(2)], owner: "ann")
            #expect(try await f.assets.look(grace: Self.grace).marked == 2)
            #expect(try await f.assets.usable([file(1)], by: .bob).isEmpty)
            #expect(try await f.psql("SELECT count(unreferenced_since) FROM _asset") == "2")
            #expect(try await f.assets.usable([file(1)], by: .ann) == [file(1)])
            #expect(
                try await f.psql("SELECT name FROM _asset WHERE unreferenced_since IS NOT NULL") == file(2).rawValue
            )
        }
    }

    // MARK: A model of all of it

    /// What refers to files, by the name of the place.
    private struct Model {
        var places: [String: Set<Int>] = [:]
        /// When each file was last referred to, or uploaded; only of files that were not collected.
        var lastUse: [Int: Int] = [:]
        /// When a look last found each file to be referred to, or when it was uploaded or found to be usable.
        var lastSeen: [Int: Int] = [:]
        var now = 0

        var referenced: Set<Int> { places.values.reduce(into: []) { $0.formUnion($1) } }

        /// Notes that files are referred to now.
        mutating func note() { for number in referenced { lastUse[number] = now } }

        mutating func set(_ place: String, _ files: Set<Int>) {
            note()
            places[place] = files.isEmpty ? nil : files
            note()
        }
    }

    /// Random saves, deletes, values inside of JSON and statements of psql between looks.
    @Test func noReferencedFileIsEverCollectedAndNoOtherOneOutlivesTwoGraces() async throws {
        try await withAssets { f in
            var random = SeededGenerator.forTest()
            var model = Model()
            var next = 0
            var collected: Set<Int> = []
            for step in 0..<seededCases(40) {
                for _ in 0..<Int.random(in: 1...6, using: &random) {
                    let known = Array(model.lastUse.keys).sorted()
                    let id = Int.random(in: 0..<6, using: &random)
                    let some = Set(known.shuffled(using: &random).prefix(Int.random(in: 0...2, using: &random)))
                    let list = "[" + some.sorted().map { nested(file($0)) }.joined(separator: ", ") + "]"
                    switch Int.random(in: 0..<9, using: &random) {
                    case 0, 1:
                        try await f.insert([file(next)], owner: "ann")
                        model.lastUse[next] = model.now
                        model.lastSeen[next] = model.now
                        next += 1
                    case 2, 3:
                        guard let number = known.randomElement(using: &random) else { continue }
                        // As an action does before a save.
                        #expect(try await f.assets.usable([file(number)], by: .ann) == [file(number)])
                        model.lastSeen[number] = model.now
                        try await f.records.save("card/\(id)", ["poster": .asset(Asset(file(number)))])
                        model.set("card \(id) poster", [number])
                    case 4:
                        try await f.records.save("card/\(id)", ["meta": .json(JSONText(validated: Array(list.utf8)))])
                        model.set("card \(id) meta", some)
                    case 5:
                        try await f.records.save("card/\(id)", ["poster": .null, "meta": .null])
                        model.set("card \(id) poster", [])
                        model.set("card \(id) meta", [])
                    case 6:
                        _ = try await f.store.delete(
                            [SkyrowTestSupport.id("card/\(id)")],
                            in: .everyone,
                            caller: .master,
                            atomic: false
                        )
                        for field in ["poster", "meta"] { model.set("card \(id) \(field)", []) }
                    case 7:
                        let scan = some.first.map { "'\(file($0))'" } ?? "NULL"
                        try await f.psql(
                            """
                            INSERT INTO card (_id, _database, _owner, scan) VALUES ('~ann/\(id)', 'ann', 'ann', \(scan))
                            ON CONFLICT (_id) DO UPDATE SET scan = EXCLUDED.scan
                            """
                        )
                        model.set("private \(id) scan", Set(some.prefix(1)))
                    default:
                        try await f.psql(
                            """
                            INSERT INTO card (_id, _database, _owner, parts) VALUES ('~bob/\(id)', 'bob', 'bob', ARRAY['\(list)']::jsonb[])
                            ON CONFLICT (_id) DO UPDATE SET parts = EXCLUDED.parts
                            """
                        )
                        model.set("private \(id) parts", some)
                    }
                }
                model.note()
                let passed = Int.random(in: 0...50_000, using: &random)
                try await f.pass(passed)
                model.now += passed
                model.note()
                for number in model.referenced { model.lastSeen[number] = model.now }
                _ = try await f.assets.look(grace: Self.grace)
                let left = try await f.names(in: "_asset")
                let gone = model.lastUse.filter { !left.contains(file($0.key).rawValue) }
                let context = "seed \(random.seed), step \(step)"
                for number in gone.keys {
                    #expect(!model.referenced.contains(number), "\(context): \(number) was collected")
                    let age = model.now - (model.lastSeen[number] ?? model.now)
                    // The test has taken some time, too.
                    #expect(age > 90_000, "\(context): \(number) was collected after \(age) s")
                    model.lastUse[number] = nil
                    collected.insert(number)
                    // The name is of no more use.
                    let refused = try await f.store.save(
                        [.draft(draft("card/late", ["poster": .asset(Asset(file(number)))]))],
                        in: .everyone,
                        caller: .ann,
                        atomic: false
                    )
                    #expect(refused.map(\.error?.code) == [.invalidArgument], "\(context)")
                }
                for (number, lastUse) in model.lastUse {
                    #expect(
                        model.now - lastUse < 200_000,
                        "\(context): \(number) is unreferenced for \(model.now - lastUse) s"
                    )
                }
                #expect(try await f.names(in: "_garbage") == Set(collected.map { file($0).rawValue }), "\(context)")
            }
            #expect(collected.count > 5, "\(collected.count)")
            #expect(!model.referenced.isEmpty)
        }
    }
}
