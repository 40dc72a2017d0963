import Logging
import SkyrowModel
import SkyrowPostgres
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

/// The applications of a database.
@Suite struct ApplicationRegistryTests {
    private static func key(_ number: UInt8, _ kind: ApplicationKey.Kind = .api) -> NewApplicationKey {
        NewApplicationKey(kind: kind, hash: Array(repeating: number, count: 32), hint: "hint000\(number)")
    }

    private static func registry(_ fixture: StoreFixture) -> ApplicationRegistry {
        ApplicationRegistry(client: fixture.store.client, defaultSchema: "app", logger: .silent)
    }

    private func name(_ text: String) throws -> ApplicationName { try ApplicationName(text) }

    private func code(_ body: () async throws -> Void) async -> ErrorCode? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? SkyrowError)?.code
        }
    }

    @Test func anApplicationIsMadeWithItsSchemaKeysAndHosts() async throws {
        try await withStore { f in
            let registry = Self.registry(f)
            #expect(try await registry.applications().isEmpty)
            #expect(try await f.psql("SELECT to_regnamespace('_skyrow') IS NULL") == "t")
            let hosts = try [HostName("shop.example"), HostName("b.example")]
            let keys = [Self.key(1), Self.key(2, .master)]
            try await registry.create(name("shop"), schema: "store", keys: keys, hosts: hosts, settings: ["a": "b"])
            let found = try await registry.applications()
            #expect(found.map(\.name.rawValue) == ["shop"] && found[0].schema == "store" && !found[0].isDisabled)
            #expect(
                found[0].keys.map(\.hint) == ["hint0001", "hint0002"] && found[0].keys.map(\.kind) == [.api, .master]
            )
            #expect(found[0].hosts == hosts.sorted())
            #expect(try await registry.settings(of: "store") == ["a": "b"])
            #expect(try await f.psql("SELECT count(*) FROM store_internal._migration") == "\(Migration.all.count)")
            #expect(try await f.psql("SELECT count(*) FROM store.\"user\"") == "0")
        }
    }

    @Test func whatIsTakenOrForeignIsRefusedAndNothingIsMade() async throws {
        try await withStore { f in
            let registry = Self.registry(f)
            try await f.psql("CREATE SCHEMA busy; CREATE TABLE busy.t (a int); CREATE SCHEMA empty")
            let host = try HostName("shop.example")
            try await registry.create(name("shop"), schema: "shop", keys: [Self.key(1)], hosts: [host])
            try await f.psql(
                """
                CREATE SCHEMA old; CREATE TABLE old._migration (version int);
                CREATE SCHEMA beside_internal; CREATE TABLE beside_internal.t (a int)
                """
            )
            let rows: [(String, SQLIdentifier, [NewApplicationKey], [HostName], ErrorCode)] = [
                ("app", "x", [], [], .duplicated),
                ("shop", "x", [], [], .duplicated),
                ("x", "app", [], [], .duplicated),
                ("x", "shop", [], [], .duplicated),
                ("x", "x", [Self.key(1)], [], .duplicated),
                ("x", "x", [Self.key(3)], [host], .duplicated),
                ("x", "busy", [], [], .invalidArgument),
                ("x", "old", [], [], .invalidArgument),
                ("x", "public", [], [], .invalidArgument),
                ("x", "pg_x", [], [], .invalidArgument),
                ("x", "information_schema", [], [], .invalidArgument),
                ("x", "_skyrow", [], [], .invalidArgument),
                ("x", "shop_internal", [], [], .invalidArgument),
                ("x", "x_internal", [], [], .invalidArgument),
                ("x", "x_visible", [], [], .invalidArgument),
                ("x", "beside", [], [], .invalidArgument),
            ]
            for (text, schema, keys, hosts, expected) in rows {
                let refusal = await code {
                    try await registry.create(name(text), schema: schema, keys: keys, hosts: hosts)
                }
                #expect(refusal == expected, "\(text) in \(schema.name)")
            }
            #expect(try await registry.applications().map(\.name.rawValue) == ["shop"])
            #expect(try await f.psql("SELECT to_regnamespace('x') IS NULL") == "t")
            // An empty schema is taken, and one of Skyrow's when that is said.
            try await registry.create(name("x"), schema: "empty", keys: [])
            try await registry.delete(name("x"), dropsSchema: false)
            #expect(await code { try await registry.create(name("y"), schema: "empty", keys: []) } == .invalidArgument)
            try await registry.create(name("y"), schema: "empty", adoptsSchema: true, keys: [])
            // One from before the first release is none.
            #expect(
                await code { try await registry.create(name("z"), schema: "old", adoptsSchema: true, keys: []) }
                    == .invalidArgument
            )
        }
    }

    @Test func keysAndHostsComeAndGo() async throws {
        try await withStore { f in
            let registry = Self.registry(f)
            let (shop, blog) = (try name("shop"), try name("blog"))
            try await registry.create(shop, schema: "shop", keys: [Self.key(1), Self.key(2, .master)])
            try await registry.create(blog, schema: "blog", keys: [])
            #expect(await code { try await registry.add(Self.key(1), to: blog) } == .duplicated)
            try await registry.add(Self.key(3), to: shop, endingOthersIn: 3600)
            let keys = try await registry.application(named: shop).keys
            #expect(keys.map { $0.expiresAt != nil } == [true, false, false])
            // A later rotation does not let a key live longer.
            try await registry.add(Self.key(4), to: shop, endingOthersIn: 7200)
            let later = try await registry.application(named: shop).keys
            #expect(later[0].expiresAt == keys[0].expiresAt)
            #expect(later.map { $0.expiresAt != nil } == [true, false, true, false])
            try await registry.removeKey(beginning: "hint0003-and-more", of: shop)
            #expect(
                try await registry.application(named: shop).keys.map(\.hint) == ["hint0001", "hint0002", "hint0004"]
            )
            #expect(await code { try await registry.removeKey(beginning: "hint0003", of: shop) } == .resourceNotFound)
            #expect(await code { try await registry.removeKey(beginning: "hint0001", of: blog) } == .resourceNotFound)

            let host = try HostName("shop.example")
            try await registry.add(host, to: shop)
            #expect(await code { try await registry.add(host, to: blog) } == .duplicated)
            #expect(await code { try await registry.remove(host, from: blog) } == .resourceNotFound)
            try await registry.remove(host, from: shop)
            try await registry.add(host, to: blog)
            #expect(try await registry.application(named: blog).hosts == [host])

            // The default application has further ones when it gets some.
            try await registry.add(Self.key(9), to: .default)
            #expect(try await registry.application(named: .default).keys.map(\.hint) == ["hint0009"])
            #expect(await code { try await registry.delete(.default, dropsSchema: true) } == .invalidArgument)
            #expect(try await registry.application(named: .default).keys.map(\.hint) == ["hint0009"])
            #expect(try await f.psql("SELECT count(*) FROM app.\"user\"") == "0")
            let other = ApplicationRegistry(client: f.store.client, defaultSchema: "elsewhere", logger: .silent)
            #expect(try await other.applications().map(\.name) == [blog, shop])
        }
    }

    @Test func anUnknownApplicationIsRefusedByEveryChange() async throws {
        try await withStore { f in
            let registry = Self.registry(f)
            let nix = try name("nix")
            let changes: [(String, () async throws -> Void)] = [
                ("delete", { try await registry.delete(nix, dropsSchema: true) }),
                ("disable", { try await registry.setDisabled(true, nix) }),
                ("key", { try await registry.add(Self.key(1), to: nix) }),
                ("remove key", { try await registry.removeKey(beginning: "hint0001", of: nix) }),
                ("host", { try await registry.add(HostName("a.example"), to: nix) }),
                ("remove host", { try await registry.remove(HostName("a.example"), from: nix) }),
                ("set", { try await registry.set("a", to: "b", of: nix) }),
                ("show", { _ = try await registry.application(named: nix) }),
            ]
            for (what, change) in changes {
                #expect(await code(change) == .resourceNotFound, "\(what)")
            }
        }
    }

    @Test func deletingKeepsTheSchemaUnlessItIsToGo() async throws {
        try await withStore { f in
            let registry = Self.registry(f)
            for (text, drops, left) in [("kept", false, "t"), ("gone", true, "f")] {
                try await registry.create(name(text), schema: SQLIdentifier(text), keys: [Self.key(7)])
                try await registry.set("development", to: "true", of: name(text))
                try await registry.delete(name(text), dropsSchema: drops)
                #expect(try await f.psql("SELECT to_regnamespace('\(text)') IS NOT NULL") == left)
            }
            #expect(try await registry.applications().isEmpty)
            #expect(try await registry.settings(of: "kept") == ["development": "true"])
        }
    }

    /// Many processes may make applications at the same moment.
    @Test func manyAreMadeAtOnce() async throws {
        try await withStore { f in
            let registry = Self.registry(f)
            try await withThrowingTaskGroup { group in
                for number in 0..<6 {
                    group.addTask {
                        let name = try ApplicationName("shop\(number / 2)")
                        do {
                            let key = Self.key(UInt8(number))
                            try await registry.create(name, schema: SQLIdentifier("s\(number)"), keys: [key])
                        } catch let error as SkyrowError where error.code == .duplicated {
                            // The other one of that name was first.
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await registry.applications().map(\.name.rawValue) == ["shop0", "shop1", "shop2"])
            let schemas = "SELECT count(*) FROM pg_namespace WHERE nspname ~ '^s[0-9]$'"
            #expect(try await f.psql(schemas) == "3")
        }
    }

    @Test func changesAreAnnounced() async throws {
        try await withStore { f in
            let registry = Self.registry(f)
            let heard = Counter()
            let listening = Task { for await _ in registry.changes() { heard.increment() } }
            try await waiting(until: "the listener hears", hearing: [heard]) { heard.value == 1 }
            try await registry.create(name("shop"), schema: "shop", keys: [])
            try await waiting(until: "the new application is announced", hearing: [heard]) { heard.value == 2 }
            _ = await code { try await registry.setDisabled(true, name("nix")) }
            try await registry.setDisabled(true, name("shop"))
            try await waiting(until: "the change is announced, and the failure is not", hearing: [heard]) {
                heard.value == 3
            }
            listening.cancel()
        }
    }
}
