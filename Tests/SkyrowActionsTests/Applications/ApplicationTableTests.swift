import SkyrowModel
import SkyrowPostgres
import SkyrowTestSupport
import Testing

@testable import SkyrowActions
@testable import SkyrowStore

/// Which application a request is for.
@Suite struct ApplicationTableTests {
    private static func application(
        _ name: String,
        keys: [(text: String, expiresAt: Timestamp?)] = [],
        hosts: [String] = [],
        isDisabled: Bool = false
    ) throws -> RegisteredApplication {
        RegisteredApplication(
            name: try ApplicationName(name),
            schema: try SQLIdentifier(name),
            isDisabled: isDisabled,
            createdAt: Timestamp(microseconds: 0),
            keys: keys.map {
                ApplicationKey(
                    kind: .api,
                    hash: TokenHash(of: $0.text).bytes,
                    hint: String($0.text.prefix(8)),
                    createdAt: Timestamp(microseconds: 0),
                    expiresAt: $0.expiresAt
                )
            },
            hosts: try hosts.map { try HostName($0) }
        )
    }

    private static func table() throws -> ApplicationTable {
        ApplicationTable([
            try application(
                "shop",
                keys: [("shop-key", nil), ("old-key", Timestamp(microseconds: 1000))],
                hosts: ["shop.example", "[::1]"]
            ),
            try application("blog", keys: [("blog-key", nil)], hosts: ["blog.example"]),
            try application("closed", keys: [("closed-key", nil)], hosts: ["closed.example"], isDisabled: true),
            try application("app", keys: [("further-key", nil)]),
        ])
    }

    @Test(
        arguments: [
            // key, host, application; nil is 103
            ("shop-key", nil, "shop"),
            ("shop-key", "shop.example", "shop"),
            ("shop-key", "SHOP.example.:8443", "shop"),
            ("shop-key", "elsewhere.example", "shop"),
            ("shop-key", "blog.example", nil),
            ("blog-key", "shop.example", nil),
            ("old-key", nil, "shop"),
            (nil, "shop.example", "shop"),
            (nil, "[::1]:3000", "shop"),
            ("", "shop.example", "shop"),
            (nil, "blog.example:80", "blog"),
            // What no application claims is the default one's to judge.
            (nil, nil, "app"),
            (nil, "elsewhere.example", "app"),
            (nil, "sub.shop.example", "app"),
            ("unknown-key", nil, "app"),
            ("further-key", nil, "app"),
            ("unknown-key", "shop.example", nil),
            ("further-key", "shop.example", nil),
            ("closed-key", nil, nil),
            (nil, "closed.example", nil),
        ] as [(String?, String?, String?)]
    )
    func aRequestIsForOneApplication(_ key: String?, _ host: String?, _ expected: String?) throws {
        let table = try Self.table()
        do throws(SkyrowError) {
            let found = try table.application(key: key, host: host, at: Timestamp(microseconds: 999))
            #expect(found.rawValue == expected)
        } catch {
            #expect(expected == nil && error.code == .accessKeyNotAccepted)
        }
    }

    /// Whether there is such a key, its application judges.
    @Test(
        arguments: [
            // application of the key, host, application; nil is 103
            ("shop", nil, "shop"), ("shop", "shop.example", "shop"), ("shop", "blog.example", nil),
            ("blog", nil, "blog"),
            ("app", nil, "app"), ("app", "shop.example", nil), ("none", nil, "app"), ("closed", nil, "app"),
        ] as [(String, String?, String?)]
    )
    func aKeyWithScopesNamesItsApplication(_ name: String, _ host: String?, _ expected: String?) throws {
        let text = KeyText(
            try #require(KeyID("k00000000")),
            secret: String(repeating: "0", count: 43),
            of: try ApplicationName(name)
        ).text
        let table = try Self.table()
        do throws(SkyrowError) {
            let found = try table.application(key: text, host: host, at: Timestamp(microseconds: 0))
            #expect(found.rawValue == expected)
            // With another checksum it is a text like any other.
            let mangled = try table.application(
                key: String(text.dropLast()) + "_",
                host: nil,
                at: Timestamp(microseconds: 0)
            )
            #expect(mangled == .default)
        } catch {
            #expect(expected == nil && error.code == .accessKeyNotAccepted)
        }
    }

    @Test func aKeyEndsAtItsTime() throws {
        let table = try Self.table()
        let error = #expect(throws: SkyrowError.self) {
            try table.application(key: "old-key", host: nil, at: Timestamp(microseconds: 1000))
        }
        #expect(error?.code == .accessKeyNotAccepted)
    }

    @Test func withoutApplicationsAllIsTheDefaultOnes() throws {
        #expect(ApplicationTable().isEmpty)
        #expect(try !Self.table().isEmpty)
        let found = try ApplicationTable().application(key: "any", host: "any", at: Timestamp(microseconds: 0))
        #expect(found == .default)
    }

    @Test(arguments: [
        ("shop", true), ("s", true), ("shop_2", true), (String(repeating: "a", count: 63), true),
        ("", false), ("Shop", false), ("2shop", false), ("_shop", false), ("pg_shop", false), ("shop-2", false),
        ("sh\u{f6}p", false), (String(repeating: "a", count: 64), false), ("shop\"; DROP", false),
    ])
    func namesAreChecked(_ text: String, _ isName: Bool) {
        #expect(((try? ApplicationName(text)) != nil) == isName)
    }

    @Test(
        arguments: [
            ("shop.example", "shop.example"), ("Shop.Example:8443", "shop.example"), ("shop.example.", "shop.example"),
            ("192.0.2.1:80", "192.0.2.1"), ("[2001:DB8::1]:80", "[2001:db8::1]"), ("[2001:db8::1]", "[2001:db8::1]"),
            ("", nil), (":80", nil), ("[::1", nil), ("a b", nil), ("a/b", nil),
            (String(repeating: "a", count: 254), nil),
        ] as [(String, String?)]
    )
    func hostsAreReadAsRequestsNameThem(_ text: String, _ expected: String?) {
        #expect(HostName(field: text)?.rawValue == expected)
    }

    @Test func anOperatorNamesAHostWithoutAPort() {
        #expect(throws: SkyrowError.self) { try HostName("shop.example:80") }
        #expect((try? HostName("Shop.example"))?.rawValue == "shop.example")
    }
}

@Suite struct StoredKeyTests {
    @Test func keysOfTheDatabaseAreOfTheirKindUntilTheyEnd() {
        func stored(_ text: String, _ kind: ApplicationKey.Kind, until end: Timestamp? = nil) -> ApplicationKey {
            let hash = TokenHash(of: text).bytes
            return ApplicationKey(
                kind: kind,
                hash: hash,
                hint: "",
                createdAt: Timestamp(microseconds: 0),
                expiresAt: end
            )
        }
        let end = Timestamp(microseconds: 10)
        let both = AccessKeys(given: GivenKeys(api: Secret("given-api"), master: Secret("given-master"))).storing([
            stored("a", .api), stored("m", .master), stored("old", .master, until: end),
        ])
        for (text, moment, kind) in [
            ("given-api", 0, .api), ("given-master", 0, .master), ("a", 99, .api), ("m", 99, .master),
            ("old", 9, .master), ("old", 10, .neither), ("b", 0, .neither), ("", 0, .neither),
        ] as [(String, Int64, AccessKeys.Kind)] {
            #expect(both.kind(of: text, at: Timestamp(microseconds: moment)) == kind, "\(text) at \(moment)")
        }
        // The given ones stay when those of the database change; an application of the database has no others.
        #expect(both.storing([]).kind(of: "a", at: end) == .neither)
        #expect(both.storing([]).kind(of: "given-master", at: end) == .master)
        #expect(AccessKeys(given: nil, stored: [stored("a", .api)]).kind(of: "given-api", at: end) == .neither)
    }

    @Test func aRandomKeyIsKnownByItsHashAndItsBeginning() {
        let (text, key) = NewApplicationKey.random(.master)
        let (other, _) = NewApplicationKey.random(.master)
        #expect(text.utf8.count == 64 && text != other)
        #expect(key.kind == .master && key.hint == text.prefix(8) && key.hash == TokenHash(of: text).bytes)
    }
}
