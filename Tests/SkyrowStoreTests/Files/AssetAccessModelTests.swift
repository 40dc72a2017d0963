import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

/// The statement about access to files decides as a second model of the rules, over seeded records, rules and callers.
@Suite(.timeLimit(.minutes(60))) struct AssetAccessModelTests {
    /// Who asks, in words of the model.
    private struct Asker {
        let caller: Caller
        var user: String?
        var roles: Set<String> = []
        /// The types that the key of the request reaches; nil without such a key.
        var types: Set<String>?
        /// Whether it passes the rules of records.
        var passes = false

        var subjects: Set<String> {
            var subjects: Set<String> = ["public"]
            if let user { subjects.formUnion(["users", "user:\(user)"]) }
            return subjects.union(roles.map { "role:\($0)" })
        }
    }

    private struct Card {
        let id: Int
        var database = "_public"
        var owner: String?
        var list: Set<String>?
        var members: Set<String> = []
        var poster: Int?
        var scan: Int?
    }

    /// Subjects, and how the rule and the list of a record combine.
    private struct Rule {
        var allow: Set<String>
        var mode: ClassRule.Mode
    }

    private struct Model {
        var cards: [Card]
        /// The uploaders by file.
        let uploaders: [Int: String]
        let files: Range<Int>
        var reading: Rule?
        /// Who sees the field `poster`; nil: who reads the record.
        var poster: Set<String>?

        private func matches(_ allow: Set<String>, _ asker: Asker, _ card: Card) -> Bool {
            guard allow.isDisjoint(with: asker.subjects) else { return true }
            guard let user = asker.user else { return false }
            return allow.contains("owner") && card.owner == user
                || allow.contains("field:members") && card.members.contains(user)
        }

        private func reads(_ asker: Asker, _ card: Card) -> Bool {
            if let types = asker.types, !types.contains("card") { return false }
            if card.database != "_public" { return !asker.passes && asker.user == card.database }
            if asker.passes { return true }
            let rule = reading ?? Rule(allow: ["public"], mode: .default)
            let isMatch = matches(rule.allow, asker, card)
            if rule.allow.isEmpty { return false }
            if rule.mode == .override { return isMatch }
            if rule.mode == .require, !isMatch { return false }
            if let user = asker.user, card.owner == user { return true }
            guard let list = card.list else { return isMatch }
            return !list.isDisjoint(with: asker.subjects)
        }

        /// The files that records open to a caller.
        func opened(to asker: Asker) -> Set<Int> {
            var opened: Set<Int> = []
            for card in cards where reads(asker, card) {
                if let scan = card.scan { opened.insert(scan) }
                if let file = card.poster, asker.passes || poster.map({ matches($0, asker, card) }) ?? true {
                    opened.insert(file)
                }
            }
            return opened
        }

        func readable(by asker: Asker) -> Set<Int> {
            if asker.caller == .master { return Set(files) }
            let own = asker.types == nil ? files.filter { uploaders[$0] != nil && uploaders[$0] == asker.user } : []
            return opened(to: asker).union(own)
        }

        func usable(by asker: Asker) -> Set<Int> {
            if asker.caller == .master { return Set(files) }
            return opened(to: asker).union(files.filter { uploaders[$0] == nil || uploaders[$0] == asker.user })
        }
    }

    private static let users = ["ann", "bob", "carl"]

    private static func keyed(_ caller: Caller, _ kind: KeyKind, _ scope: String) -> Caller {
        var caller = caller
        caller.key = KeyGrant(KeyID("k00000001")!, named: "web", kind, [try! KeyScope(scope)])
        return caller
    }

    private static let askers: [Asker] = [
        Asker(caller: .anonymous), Asker(caller: .ann, user: "ann"), Asker(caller: .bob, user: "bob"),
        Asker(caller: Caller(kind: .user("carl"), roles: ["staff"]), user: "carl", roles: ["staff"]),
        Asker(caller: .master), Asker(caller: keyed(.bob, .client, "type:card:read"), user: "bob", types: ["card"]),
        Asker(caller: keyed(.bob, .client, "type:safe"), user: "bob", types: ["safe"]),
        Asker(caller: keyed(.master, .server, "type:card"), types: ["card"], passes: true),
    ]

    private static let subjects = [
        "public", "users", "owner", "user:ann", "user:bob", "role:staff", "role:none", "field:members",
    ]

    private static func some(_ words: [String], upTo count: Int, _ random: inout SeededGenerator) -> Set<String> {
        Set(words.shuffled(using: &random).prefix(Int.random(in: 0...count, using: &random)))
    }

    private static func card(_ id: Int, _ files: Range<Int>, _ random: inout SeededGenerator) -> Card {
        var card = Card(id: id)
        if Int.random(in: 0..<4, using: &random) == 0 { card.database = users.randomElement(using: &random)! }
        if Int.random(in: 0..<4, using: &random) > 0 { card.owner = users.randomElement(using: &random)! }
        if Bool.random(using: &random) {
            card.list = some(["public", "users", "user:ann", "user:bob", "role:staff", "role:none"], upTo: 2, &random)
        }
        card.members = some(users, upTo: 2, &random)
        if Bool.random(using: &random) { card.poster = files.randomElement(using: &random)! }
        if Int.random(in: 0..<3, using: &random) == 0 { card.scan = files.randomElement(using: &random)! }
        return card
    }

    private static func insert(_ cards: [Card], _ f: AssetFixture) async throws {
        let rows = cards.map { card -> String in
            let id = card.database == "_public" ? "\(card.id)" : "~\(card.database)/\(card.id)"
            let list = card.list.map { list in
                "'{" + list.sorted().map { "\"\($0)\": \"read\"" }.joined(separator: ", ") + "}'"
            }
            let members = card.members.sorted().joined(separator: ",")
            func text(_ value: String?) -> String { value.map { "'\($0)'" } ?? "NULL" }
            return """
                ('\(id)', '\(card.database)', \(text(card.owner)), \(list ?? "NULL"), '{\(members)}', \
                \(text(card.poster.map { file($0).rawValue })), \(text(card.scan.map { file($0).rawValue })))
                """
        }
        try await f.psql(
            """
            DELETE FROM card;
            INSERT INTO card (_id, _database, _owner, _access, members, poster, scan) VALUES \(rows.joined(separator: ",\n"))
            """
        )
    }

    /// The subject of a key, in the service's words.
    private static func subject(_ key: String) -> Subject {
        switch key {
        case "public": .everyone
        case "users": .users
        case "owner": .owner
        case "field:members": .field(field("members"))
        case _ where key.hasPrefix("user:"): .user(UserID(String(key.dropFirst(5))))
        default: .role(RoleName(String(key.dropFirst(5))))
        }
    }

    @Test func theStatementDecidesAsTheModelDoes() async throws {
        try await withAssets { f in
            var random = SeededGenerator.forTest()
            let files = 0..<40
            var uploaders: [Int: String] = [:]
            for number in files where number % 3 > 0 { uploaders[number] = Self.users[number % Self.users.count] }
            for number in files { try await f.insert([file(number)], owner: uploaders[number].map { UserID($0) }) }
            var model = Model(cards: [], uploaders: uploaders, files: files)
            var (opened, closed) = (0, 0)
            for round in 0..<seededCases(12) {
                // Few cards, so that a file is open through one of them at most times.
                model.cards = (0..<18).map { Self.card($0, files, &random) }
                try await Self.insert(model.cards, f)
                model.reading =
                    round % 4 == 0
                    ? nil
                    : Rule(
                        allow: Self.some(Self.subjects, upTo: 3, &random),
                        mode: ClassRule.Mode.allCases.randomElement(using: &random)!
                    )
                model.poster = round % 3 == 0 ? nil : Self.some(Self.subjects, upTo: 2, &random)
                var change = ClassAccessChange(type: type("card"))
                let rule = model.reading.map { ClassRule($0.allow.map(Self.subject), $0.mode) }
                change.rules.updateValue(rule, forKey: .read)
                let readers = model.poster.map { FieldSubjects($0.sorted().map(Self.subject)) }
                change.fields[field("poster")] = [.read: readers]
                _ = try await f.store.classAccess.change(change)
                for asker in Self.askers {
                    let expected = model.usable(by: asker)
                    let usable = try await f.assets.usable(Set(files.map { file($0) }), by: asker.caller)
                    #expect(usable == Set(expected.map { file($0) }), "seed \(random.seed), round \(round), \(asker)")
                    let readable = model.readable(by: asker)
                    for number in files.shuffled(using: &random).prefix(10) {
                        let isOpen = try await f.assets.readable(file(number), by: asker.caller) != nil
                        #expect(
                            isOpen == readable.contains(number),
                            "seed \(random.seed), round \(round), \(asker), file \(number)"
                        )
                        if isOpen { opened += 1 } else { closed += 1 }
                    }
                }
            }
            #expect(opened > 100 && closed > 100, "\(opened), \(closed)")
        }
    }
}
