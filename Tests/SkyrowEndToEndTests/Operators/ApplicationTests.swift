import Foundation
import FoundationNetworking
import Logging
import SkyrowModel
import SkyrowPostgres
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions
@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// Several applications of one service, as their clients and their operator meet them.
@Suite struct ApplicationTests {
    /// An application that `skyrow app create` made.
    private struct Made {
        let name: String
        let apiKey: String
        let masterKey: String

        var key: [String: String] { ["X-Skygear-API-Key": apiKey] }
        var master: [String: String] { ["X-Skygear-API-Key": masterKey] }
    }

    private static func run(_ service: RunningService, _ words: String...) async throws -> Tool.Result {
        try await Tool.run(words: [Tool.path] + words + ["--data-directory", service.directory])
    }

    private static func make(_ service: RunningService, _ name: String, _ words: String...) async throws -> Made {
        let made = try CommandOutputTests.object(
            try await Tool.run(
                words: [Tool.path, "app", "create", name, "--json", "--data-directory", service.directory] + words
            )
        )
        return Made(
            name: try #require(made["name"] as? String),
            apiKey: try #require(made["api_key"] as? String),
            masterKey: try #require(made["master_key"] as? String)
        )
    }

    /// The answer's result or error, as one text.
    private static func call(
        _ service: RunningService,
        _ headers: [String: String],
        _ method: String,
        _ parameters: String = "{}"
    ) async throws -> String {
        // The master key of the service stays away when a key or a token is sent.
        var headers = headers
        if headers["X-Skygear-API-Key"] == nil { headers["X-Skygear-API-Key"] = "" }
        let (data, _) = try await service.rpc(method, parameters, headers: headers)
        return String(decoding: data, as: UTF8.self)
    }

    /// Waits until the service knows of a change.
    private static func waiting(
        for expected: String,
        _ service: RunningService,
        _ headers: [String: String],
        _ method: String = "record:query",
        _ parameters: String = #"{"record_type":"user"}"#
    ) async throws {
        try await SkyrowTestSupport.waiting(until: "\(method) has \(expected)") {
            try await call(service, headers, method, parameters).contains(expected)
        }
    }

    private static let save = #"{"records":[{"_id":"note/first","content":"%"}]}"#

    private static func saved(_ content: String) -> String { save.replacing("%", with: content) }

    @Test func applicationsShareAServiceAndNothingElse() async throws {
        try await withService { service in
            let shop = try await Self.make(service, "shop", "--development", "--host-name", "shop.example")
            let blog = try await Self.make(service, "blog", "--development")
            let own = ["X-Skygear-API-Key": try service.key("SKYROW_MASTER_KEY")]
            // Who knows of the second knows of the first.
            try await Self.waiting(for: #""records""#, service, blog.key)

            // One id in each.
            for (headers, content) in [(shop.master, "of shop"), (blog.master, "of blog"), (own, "of app")] {
                let answer = try await Self.call(service, headers, "record:save", Self.saved(content))
                #expect(answer.contains(#""content":"\#(content)""#))
            }
            for (headers, content) in [(shop.key, "of shop"), (blog.key, "of blog"), (own, "of app")] {
                let found = try await Self.call(service, headers, "record:query", #"{"record_type":"note"}"#)
                #expect(found.contains(content) && found.matches(of: /"content"/).count == 1)
            }
            #expect(try await service.psql("SELECT content FROM shop.note") == "of shop")

            // One login key in each; a token is of one application, whatever key comes with it.
            let account = #"{"auth_data":{"username":"ann"},"password":"correct horse"}"#
            var tokens: [String] = []
            for headers in [shop.key, blog.key] {
                let answer = try await Self.call(service, headers, "auth:signup", account)
                let match = try #require(answer.firstMatch(of: /"access_token":"([^"]+)"/))
                tokens.append(String(match.1))
            }
            func me(_ token: String, _ headers: [String: String]) async throws -> String {
                try await Self.call(service, headers.merging(["Authorization": "Bearer \(token)"]) { a, _ in a }, "me")
            }
            #expect(try await me(tokens[0], shop.key).contains(#""username":"ann""#))
            #expect(try await me(tokens[1], shop.key).contains(#""code":104"#))
            #expect(try await me(tokens[0], own).contains(#""code":104"#))
            #expect(try await me(tokens[0], blog.key).contains(#""code":104"#))

            // Revoking in one leaves sessions of the other.
            _ = try await service.psql("UPDATE shop_internal._user SET password_hash = 'x', token_valid_since = now()")
            try await SkyrowTestSupport.waiting(until: "the session of shop is over") {
                try await me(tokens[0], shop.key).contains(#""code":104"#)
            }
            #expect(try await me(tokens[1], blog.key).contains(#""username":"ann""#))

            // The v1 envelope finds the application by the key in its body.
            for (key, content) in [(shop.apiKey, "of shop"), (blog.apiKey, "of blog")] {
                let body = #"{"api_key":"\#(key)","action":"record:query","record_type":"note"}"#
                var request = URLRequest(url: service.address)
                request.httpMethod = "POST"
                request.httpBody = Data(body.utf8)
                let (data, _) = try await URLSession.shared.data(for: request)
                #expect(String(decoding: data, as: UTF8.self).contains(content))
            }
            // An idempotency key of one is new to the other.
            for (headers, id) in [(shop.master, "a"), (blog.master, "b")] {
                let saving = #"{"records":[{"_id":"note/\#(id)","content":"x"}],"idempotency_key":"once"}"#
                let answer = try await Self.call(service, headers, "record:save", saving)
                #expect(answer.contains(#""_id":"note/\#(id)""#), "\(answer)")
            }
            let metrics = try await service.get(
                "metrics",
                headers: ["Authorization": "Bearer \(try service.key("SKYROW_MASTER_KEY"))"]
            ).0
            #expect(metrics.contains(#"skyrow_actions_total{application="shop",action="auth:signup",outcome="OK"} 1"#))
            #expect(metrics.contains(#"skyrow_schema_types{application="blog"} 2"#))
            #expect(metrics.contains("skyrow_applications_open 3"))
            // The master key of an application is not the operator's.
            #expect(
                try await service.get("metrics", headers: ["Authorization": "Bearer \(shop.masterKey)"]).1.statusCode
                    == 401
            )
        }
    }

    @Test func keysHostsAndSettingsChangeWhileItRuns() async throws {
        try await withService { service in
            let shop = try await Self.make(service, "shop", "--host-name", "shop.example")
            let blog = try await Self.make(service, "blog")
            // Who knows of the second knows of the first.
            try await Self.waiting(for: #""records""#, service, blog.key)
            // A new application is frozen, though the service is in development.
            #expect(try await Self.call(service, shop.master, "record:save", Self.saved("x")).contains(#""error""#))
            _ = try await Self.run(service, "app", "set", "shop", "development", "true")
            try await Self.waiting(for: "of shop", service, shop.master, "record:save", Self.saved("of shop"))
            #expect(try await Self.call(service, blog.master, "record:save", Self.saved("x")).contains(#""error""#))

            // Keys of one with the host of another.
            let mixed = blog.key.merging(["Host": "shop.example"]) { a, _ in a }
            #expect(
                try await Self.call(service, mixed, "record:query", #"{"record_type":"user"}"#).contains(#""code":103"#)
            )

            // A key that was rotated is accepted until its end; one that was removed is not.
            let next = try await Self.run(service, "app", "key", "rotate", "shop", "--overlap", "1h").output
            let further = ["X-Skygear-API-Key": next]
            try await Self.waiting(for: "of shop", service, further, "record:query", #"{"record_type":"note"}"#)
            try await Self.waiting(for: "of shop", service, shop.key, "record:query", #"{"record_type":"note"}"#)
            _ = try await Self.run(service, "app", "key", "remove", "shop", shop.apiKey)
            try await Self.waiting(for: #""code":103"#, service, shop.key)
            _ = try await Self.run(service, "app", "key", "rotate", "shop", "--overlap", "0s")
            try await Self.waiting(for: #""code":103"#, service, further)

            // The default application can have further keys.
            let own = try await Self.run(service, "app", "key", "add", "app", "--kind", "master").output
            try await Self.waiting(for: #""records""#, service, ["X-Skygear-API-Key": own])
            _ = try await Self.run(service, "app", "key", "remove", "app", own)
            try await Self.waiting(for: #""code":103"#, service, ["X-Skygear-API-Key": own])

            // Disabled, enabled, deleted.
            _ = try await Self.run(service, "app", "disable", "blog")
            try await Self.waiting(for: "disabled", service, blog.key)
            _ = try await Self.run(service, "app", "enable", "blog")
            try await Self.waiting(for: #""records""#, service, blog.key)
            _ = try await Self.run(service, "app", "delete", "blog", "--yes")
            try await Self.waiting(for: #""code":103"#, service, blog.key)
            #expect(try await service.psql("SELECT to_regnamespace('blog') IS NOT NULL") == "t")
            _ = try await Self.run(service, "app", "delete", "shop", "--yes", "--drop-schema")
            try await Self.waiting(for: #""code":103"#, service, shop.master)
            #expect(try await service.psql("SELECT to_regnamespace('shop') IS NULL") == "t")
        }
    }

    @Test func whatCannotBeIsRefusedByName() async throws {
        try await withService { service in
            _ = try await Self.make(service, "shop", "--host-name", "shop.example")
            let psql = ["psql", "--administrator", "-c", "CREATE ROLE them; CREATE SCHEMA theirs AUTHORIZATION them"]
            let words = [Tool.path] + psql + ["--data-directory", service.directory]
            #expect(try await Tool.run(words: words).status == .exited(0))
            let rows: [([String], String)] = [
                (["create", "shop"], "An application of this name already exists."),
                (["create", "Shop"], "lower-case"),
                (["create", "app"], "service's own"),
                (["create", "x", "--in-schema", "app"], "schema app belongs to the application app"),
                (["create", "x", "--in-schema", "theirs"], "belongs to another role"),
                (["create", "x", "--in-schema", "public"], "cannot be used for an application"),
                (["create", "x", "--in-schema", "a b"], "--in-schema must be"),
                (["create", "x", "--host-name", "shop.example"], "Another application has this host name."),
                (["create", "x", "--host-name", "a:80"], "without a port"),
                (["show", "x"], "The application x does not exist."),
                (["delete", "x", "--yes"], "The application x does not exist."),
                (["delete", "app", "--drop-schema", "--yes"], "cannot be deleted"),
                (["disable", "app"], "service's own"),
                (["key", "remove", "shop", "ffffffff"], "no key that begins with"),
                (["key", "rotate", "shop", "--overlap", "never"], "--overlap must be"),
                (["host", "remove", "shop", "b.example"], "has no host name"),
                (["set", "shop", "port", "80"], "is not a setting of an application"),
                (["set", "shop", "development", "maybe"], "development must be"),
                (["set", "app", "development", "true"], "are the service's"),
            ]
            for (words, sentence) in rows {
                let result = try await Tool.run(
                    words: [Tool.path, "app"] + words + ["--data-directory", service.directory]
                )
                #expect(result.status != .exited(0) && result.errors.contains(sentence), "\(words): \(result.errors)")
            }
            #expect(try await service.psql("SELECT count(*) FROM _skyrow.application") == "1")
            #expect(try await service.psql("SELECT to_regnamespace('x') IS NULL") == "t")
            let unknown = try await Self.run(service, "user", "list", "--application", "x")
            #expect(unknown.errors.contains("The application x does not exist."))
        }
    }

    @Test func commandsWorkOnOneApplication() async throws {
        let folder = try TemporaryDirectory()
        let file = folder.path + "/shop.backup"
        try await withService { service in
            let shop = try await Self.make(service, "shop", "--development")
            try await Self.waiting(for: "of shop", service, shop.master, "record:save", Self.saved("of shop"))
            try await service.save("note/first", content: "of app")
            func run(_ words: String...) async throws -> Tool.Result {
                try await Tool.run(
                    words: [Tool.path] + words + ["--application", "shop", "--data-directory", service.directory]
                )
            }
            #expect(try await run("psql", "-X", "-At", "-c", "SELECT content FROM note").output == "of shop")
            #expect(try await run("user", "create", "zoe", "--json").status == .exited(0))
            #expect(try await run("user", "list").output.contains("zoe"))
            #expect(!(try await Self.run(service, "user", "list").output.contains("zoe")))
            #expect(try await run("export", "--type", "note").output.contains("of shop"))
            #expect(try await run("backup", file).status == .exited(0))
            #expect(try await run("config").output.contains("The table of the application shop"))
            // A service that runs keeps an application from being restored.
            let refused = try await run("restore", file, "--replace")
            #expect(refused.status != .exited(0))
        }
        // The archive is of that application alone, with its settings.
        let other = try TemporaryDirectory()
        let place = ["--data-directory", other.path + "/data"]
        let restored = try await Tool.run(words: [Tool.path, "restore", file, "--schema", "shop"] + place)
        #expect(restored.status == .exited(0), "\(restored.errors)")
        let created = try await Tool.run(words: [Tool.path, "app", "create", "shop", "--existing"] + place)
        #expect(created.status == .exited(0), "\(created.errors)")
        let show = try await Tool.run(
            words: [Tool.path, "psql", "-X", "-At", "--application", "shop"] + place + [
                "-c", "SELECT content, (SELECT count(*) FROM _users), to_regclass('app.note') FROM note",
            ]
        )
        #expect(show.output == "of shop|1|")
    }

    /// In a release an idle application takes 0.2 MB at first and 0.3 MB when its timers have run for some minutes; in a debug build
    /// it takes half as much again. So the bound is that of a debug build after minutes, which a slow machine may need. These are
    /// fewer than a hundred, for the time that their tables take to be made.
    @Test func idleApplicationsTakeLittle() async throws {
        try await withService { service in
            func connections() async throws -> Int {
                let query = "SELECT count(*) FROM pg_stat_activity WHERE starts_with(application_name, 'skyrow ')"
                return try #require(Int(try await service.psql(query)))
            }
            let shops = 32
            let first = 8
            let keys = try await Self.make(shops, beside: service)
            /// Each is asked once, and idles then.
            func ask(_ keys: some Sequence<String>) async throws {
                for key in keys { try await Self.waiting(for: #""records""#, service, ["X-Skygear-API-Key": key]) }
            }
            // The first also take what all have in common.
            try await ask(keys.prefix(first))
            let before = (try ownMemory(of: service.process), try await connections())
            try await ask(keys.dropFirst(first))
            let after = (try ownMemory(of: service.process), try await connections())
            #expect(after.0 - before.0 < (shops - first) * 600_000, "\(before.0) bytes before, \(after.0) after")
            #expect(after.1 < shops / 2 + before.1)
        }
    }

    @Test func limitsCountWhatIsAskedOfOneApplication() async throws {
        try await withService { service in
            let shop = try await Self.make(service, "shop")
            let blog = try await Self.make(service, "blog")
            for name in ["shop", "blog"] {
                let result = try await Self.run(service, "app", "set", name, "rate-limit-client", "5/h")
                #expect(result.status == .exited(0), "\(result.errors)")
            }
            // Who knows of this one knows of the limits.
            let last = try await Self.make(service, "last")
            try await Self.waiting(for: #""records""#, service, last.key)
            // One client, whose five calls of the one application are none of the other.
            for application in [shop, blog] {
                try await Self.waiting(for: #""records""#, service, application.key)
                var answered = 1
                while answered < 20 {
                    let query = #"{"record_type":"user"}"#
                    let answer = try await Self.call(service, application.key, "record:query", query)
                    if answer.contains(#""code":131"#) { break }
                    #expect(answer.contains(#""records""#), "\(answer)")
                    answered += 1
                }
                #expect(answered == 5, "\(application.name)")
            }
        }
    }

    @Test func anApplicationOpensWhenTheDatabaseIsBack() async throws {
        let cluster = try await TemporaryCluster.start()
        let folder = try TemporaryDirectory()
        try await withTemporaryDatabaseAndPsql(on: cluster) { database in
            let service = try await RunningService.start(
                in: folder.path + "/data",
                arguments: ["--development", "--database-url", database.url],
                logLevel: "critical",
                refusesInTime: true
            )
            let shop = try await Self.make(service, "shop", "--database-url", database.url)
            let blog = try await Self.make(service, "blog", "--database-url", database.url)
            // Who knows of the second knows of the first, which no request has opened.
            try await Self.waiting(for: #""records""#, service, blog.key)
            try await cluster.stop(mode: "fast")
            try await Self.waiting(for: #""code":135"#, service, shop.key)
            let answer = try await Self.call(service, shop.key, "record:query", #"{"record_type":"user"}"#)
            #expect(answer.contains(#""code":135"#), "\(answer)")
            try await cluster.launch()
            try await Self.waiting(for: #""records""#, service, shop.key)
            #expect(await service.terminate() == .exited(0))
        }
    }

    @Test func aDroppedSchemaIsNotMadeAnew() async throws {
        try await withService { service in
            let shop = try await Self.make(service, "shop")
            _ = try await service.psql("DROP SCHEMA shop CASCADE")
            try await Self.waiting(for: #""code":10000"#, service, shop.key)
            #expect(try await service.psql("SELECT to_regnamespace('shop') IS NULL") == "t")
            try await service.complaints.line("the log says why") {
                $0.contains("does not contain the tables of the application shop")
            }
        }
    }

    /// What `skyrow app create` makes, without a process for each; their API keys.
    private static func make(_ count: Int, beside service: RunningService) async throws -> [String] {
        let flags = ["data-directory": service.directory]
        let settings = try SettingsLoader(flags: flags, environment: [:], groups: SettingsTable.databaseGroups).load()
        let access = try await DatabaseAccess(settings, logger: .silent)
        let keys = try await withPostgresClient(access.connection) { client in
            let registry = ApplicationRegistry(client: client, defaultSchema: "app", logger: .silent)
            var keys: [String] = []
            for number in 0..<count {
                let name = try ApplicationName("shop\(number)")
                let (text, key) = NewApplicationKey.random(.api)
                try await registry.create(name, schema: try SQLIdentifier(name.rawValue), keys: [key])
                keys.append(text)
            }
            return keys
        }
        await access.close()
        return keys
    }
}
