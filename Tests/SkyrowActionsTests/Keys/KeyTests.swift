import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// Keys with scopes, from the one who makes them to the process that refuses them.
@Suite(.timeLimit(.minutes(60))) struct KeyTests {
    private static let origin = RequestOrigin(address: "192.0.2.7", requestID: "r1")

    private func make(
        _ fixture: ServiceFixture,
        _ scopes: [String] = [],
        kind: KeyKind = .client,
        name: String = "a key",
        networks: [String] = [],
        expiresAt: Timestamp? = nil
    ) async throws -> IssuedAccessKey {
        try await fixture.service.run(
            Actions.keyCreate,
            KeyCreation(
                name: name,
                kind: kind,
                scopes: try scopes.map { try KeyScope($0) },
                networks: networks.compactMap { AddressRange($0) },
                expiresAt: expiresAt
            ),
            by: ServiceFixture.masterCaller,
            origin: Self.origin
        )
    }

    private func credentials(_ key: IssuedAccessKey, from address: String? = nil, token: String? = nil) -> Credentials {
        Credentials(key: key.text, accessToken: token, address: address.flatMap { ClientAddress($0) })
    }

    @Test func aKeyCountsFromTheAnswerOnAndUntilItIsRevoked() async throws {
        try await withService { fixture in
            let service = fixture.service
            let key = try await make(fixture, ["read"])
            let caller = try await service.authenticate(credentials(key), for: Actions.recordQuery.description)
            #expect(caller.kind == .anonymous)
            #expect(caller.key?.id == key.key.keyID)
            // What is remembered needs no database, once all notices of the change have come.
            try await waiting(until: "the key is remembered") {
                _ = try await service.authenticate(credentials(key), for: Actions.recordQuery.description)
                return try service.cachedCaller(credentials(key), for: Actions.recordQuery.description) == caller
            }
            try await expectError(.permissionDenied) {
                try await service.authenticate(credentials(key), for: Actions.recordSave.description)
            }
            try await service.run(Actions.keyRevoke, key.key.keyID, by: ServiceFixture.masterCaller)
            try await expectError(.accessKeyNotAccepted) {
                try await service.authenticate(credentials(key), for: Actions.recordQuery.description)
            }
            // To revoke it again changes nothing.
            let first = try await fixture.psql("SELECT revoked_at FROM _key")
            try await service.run(Actions.keyRevoke, key.key.keyID, by: ServiceFixture.masterCaller)
            #expect(try await fixture.psql("SELECT revoked_at FROM _key") == first)
            try await expectError(.resourceNotFound) {
                try await service.run(
                    Actions.keyRevoke,
                    try #require(KeyID("k00000000")),
                    by: ServiceFixture.masterCaller
                )
            }
        }
    }

    @Test(arguments: [("action:record:query", true), ("action:none", false), ("action:record:quer", false)])
    func aScopeNamesAnActionThatExists(_ scope: String, _ isMade: Bool) async throws {
        try await withService { fixture in
            if isMade {
                #expect(try await make(fixture, [scope]).key.scopes == [scope])
            } else {
                try await expectError(.invalidArgument) { try await make(fixture, [scope]) }
            }
        }
    }

    @Test func theDatabaseHasNoTextOfAKey() async throws {
        try await withService { fixture in
            let key = try await make(fixture)
            let secret = try #require(key.text.split(separator: "_").dropLast().last)
            for table in ["_key", "_audit"] {
                let found = try await fixture.psql(
                    "SELECT count(*) FROM \(table) AS t WHERE t::text LIKE '%\(secret)%'"
                )
                #expect(found == "0")
            }
            let hash = try await fixture.psql(
                "SELECT hash = sha256(convert_to('\(key.text)', 'UTF8')) FROM _key WHERE id = '\(key.key.id)'"
            )
            #expect(hash == "t")
        }
    }

    @Test func revocationIsHeardInEveryProcess() async throws {
        try await withService { first in
            let key = try await make(first, ["read"])
            try await first.withSecondService { second in
                let there = second.service
                let caller = try await there.authenticate(credentials(key), for: Actions.recordQuery.description)
                #expect(caller.key?.id == key.key.keyID)
                // The clock of the other process stands still, so nothing but the notice has it ask again.
                try await first.service.run(Actions.keyRevoke, key.key.keyID, by: ServiceFixture.masterCaller)
                try await waiting(until: "the other process refuses the key") {
                    do throws(SkyrowError) {
                        _ = try await there.authenticate(credentials(key), for: Actions.recordQuery.description)
                        return false
                    } catch {
                        return error.code == .accessKeyNotAccepted
                    }
                }
            }
        }
    }

    /// Behind a pooler nothing is heard.
    @Test func revocationIsFoundWithinASecondWithoutNotices() async throws {
        try await withService { fixture in
            let key = try await make(fixture, ["read"])
            let deaf = fixture.configured { _ in }
            _ = try await deaf.authenticate(credentials(key), for: Actions.recordQuery.description)
            try await fixture.service.run(Actions.keyRevoke, key.key.keyID, by: ServiceFixture.masterCaller)
            // It is still remembered for a second, and no longer.
            fixture.clock.advance(by: .milliseconds(900))
            _ = try await deaf.authenticate(credentials(key), for: Actions.recordQuery.description)
            fixture.clock.advance(by: .milliseconds(200))
            try await expectError(.accessKeyNotAccepted) {
                try await deaf.authenticate(credentials(key), for: Actions.recordQuery.description)
            }
            // So is a change of scopes by psql.
            let other = try await make(fixture, ["read"])
            fixture.clock.advance(by: .seconds(2))
            try await fixture.psql("UPDATE _key SET scopes = '{signup}' WHERE id = '\(other.key.id)'")
            try await expectError(.permissionDenied) {
                try await deaf.authenticate(credentials(other), for: Actions.recordQuery.description)
            }
        }
    }

    @Test func anExpiredKeyEndsByTheClock() async throws {
        try await withService { fixture in
            let end = fixture.clock.clock.now().adding(.seconds(3600))
            let key = try await make(fixture, expiresAt: end)
            // A notice that the key was made comes at any moment, and has a service that listens ask again.
            let deaf = fixture.configured { _ in }
            #expect(deaf.standing(of: credentials(key)) == .unverified)
            _ = try await deaf.authenticate(credentials(key), for: Actions.authLogIn.description)
            fixture.clock.advance(by: .seconds(3599))
            _ = try await deaf.authenticate(credentials(key), for: Actions.authLogIn.description)
            #expect(deaf.standing(of: credentials(key)) == .accepted)
            fixture.clock.advance(by: .seconds(1))
            try await expectError(.accessKeyNotAccepted) {
                try await deaf.authenticate(credentials(key), for: Actions.authLogIn.description)
            }
            #expect(deaf.standing(of: credentials(key)) == .missing)
            try await expectError(.invalidArgument) {
                try await make(fixture, expiresAt: Timestamp(microseconds: 0))
            }
        }
    }

    @Test(
        arguments: [
            (["10.0.0.0/8"], "10.1.2.3", true), (["10.0.0.0/8"], "11.0.0.1", false), (["10.0.0.0/8"], nil, false),
            (["127.0.0.0/8"], nil, true), (["2001:db8::/32"], "2001:db8::7", true),
            (["2001:db8::/32"], "10.0.0.1", false),
            (["10.0.0.0/8", "192.0.2.7"], "192.0.2.7", true), ([], "192.0.2.7", true), ([], nil, true),
            (["10.0.0.0/8"], "::ffff:10.1.2.3", true),
        ] as [([String], String?, Bool)]
    )
    func aKeyCountsFromItsNetworks(_ networks: [String], _ address: String?, _ counts: Bool) throws {
        let ranges = networks.compactMap { AddressRange($0) }
        #expect(ranges.count == networks.count)
        let key = HeldKey(
            StoredKey(
                id: try #require(KeyID("k00000000")),
                name: "",
                kind: .client,
                networks: ranges,
                createdAt: Timestamp(microseconds: 0)
            )
        )
        let from = address.flatMap { ClientAddress($0) }
        #expect(key.counts(isPrevious: false, from: from, at: Timestamp(microseconds: 1)) == counts)
    }

    @Test func networksAreKeptAsTheyAre() async throws {
        try await withService { fixture in
            let key = try await make(fixture, networks: ["10.0.0.0/8", "2001:db8::/32", "192.0.2.7"])
            let listed = try await fixture.service.run(Actions.keyList, by: ServiceFixture.masterCaller)
            #expect(listed.map(\.networks) == [key.key.networks])
            #expect(key.key.networks == ["10.0.0.0/8", "2001:db8::/32", "192.0.2.7/32"])
            _ = try await fixture.service.authenticate(
                credentials(key, from: "10.9.9.9"),
                for: Actions.authLogIn.description
            )
            try await expectError(.accessKeyNotAccepted) {
                try await fixture.service.authenticate(
                    credentials(key, from: "11.0.0.1"),
                    for: Actions.authLogIn.description
                )
            }
        }
    }

    @Test func bothTextsCountDuringARotation() async throws {
        try await withService { fixture in
            let service = fixture.service
            let first = try await make(fixture)
            let request = KeyRotation(id: first.key.keyID, overlap: .seconds(60))
            let second = try await service.run(Actions.keyRotate, request, by: ServiceFixture.masterCaller)
            #expect(second.text != first.text && second.key.id == first.key.id)
            for key in [first, second] {
                _ = try await service.authenticate(credentials(key), for: Actions.authLogIn.description)
            }
            let third = try await service.run(Actions.keyRotate, request, by: ServiceFixture.masterCaller)
            for key in [second, third] {
                _ = try await service.authenticate(credentials(key), for: Actions.authLogIn.description)
            }
            try await expectError(.accessKeyNotAccepted) {
                try await service.authenticate(credentials(first), for: Actions.authLogIn.description)
            }
            fixture.clock.advance(by: .seconds(61))
            _ = try await service.authenticate(credentials(third), for: Actions.authLogIn.description)
            try await expectError(.accessKeyNotAccepted) {
                try await service.authenticate(credentials(second), for: Actions.authLogIn.description)
            }
            try await service.run(Actions.keyRevoke, first.key.keyID, by: ServiceFixture.masterCaller)
            try await expectError(.accessKeyNotAccepted) {
                try await service.authenticate(credentials(third), for: Actions.authLogIn.description)
            }
            try await expectError(.resourceNotFound) {
                try await service.run(Actions.keyRotate, request, by: ServiceFixture.masterCaller)
            }
        }
    }

    @Test func mangledAndForeignTextsAreWrongKeys() async throws {
        try await withService { fixture in
            let key = try await make(fixture)
            let parts = key.text.split(separator: "_").map(String.init)
            let other = try await make(fixture)
            let secret = other.text.split(separator: "_").map(String.init)[2]
            let shop = try ApplicationName("shop")
            let texts = [
                String(key.text.dropLast()), key.text + "0", key.text.uppercased(),
                "sky_\(parts[1])_\(parts[2])_000000",
                // With right checksums: the id of another key, the secret of another key, and another application's key.
                KeyText(other.key.keyID, secret: parts[2], of: .default).text,
                KeyText(key.key.keyID, secret: secret, of: .default).text,
                KeyText(key.key.keyID, secret: parts[2], of: shop).text,
                KeyText(key.key.keyID, secret: String(repeating: "0", count: 43), of: .default).text,
            ]
            #expect(Set(texts).count == texts.count)
            for text in texts {
                try await expectError(.accessKeyNotAccepted) {
                    try await fixture.service.authenticate(Credentials(key: text), for: Actions.authLogIn.description)
                }
            }
            _ = try await fixture.service.authenticate(credentials(key), for: Actions.authLogIn.description)
        }
    }

    @Test func aServersKeyIsNoMasterKey() async throws {
        try await withService(.production) { fixture in
            let service = fixture.service
            let key = try await make(fixture, kind: .server)
            let caller = try await service.authenticate(credentials(key), for: Actions.recordSave.description)
            #expect(caller.isMaster && !caller.isOperator)
            #expect(!service.isMasterKey(key.text))
            for action in [
                Actions.schemaCreate.description, Actions.keyCreate.description, Actions.roleAssign.description,
                Actions.me.description,
            ] {
                try await expectError(.permissionDenied) {
                    try await service.authenticate(credentials(key), for: action)
                }
            }
            // It acts for no user that the request names.
            var acting = credentials(key)
            acting.actingUserID = "ann"
            #expect(try await service.authenticate(acting, for: Actions.recordSave.description).userID == nil)
        }
    }

    @Test func keysAreMadeByTheMasterKeyAlone() async throws {
        try await withService { fixture in
            let caller = try await fixture.service.authenticate(ServiceFixture.key, for: .key)
            try await expectError(.permissionDenied) {
                try await fixture.service.run(Actions.keyCreate, KeyCreation(name: "x"), by: caller)
            }
            // Development opens the schema to any key; a key would outlive it.
            try await expectError(.permissionDenied) {
                try await fixture.service.authenticate(ServiceFixture.key, for: Actions.keyCreate.description)
            }
        }
    }

    @Test func onlyTheFirstThousandKeysAreMade() async throws {
        try await withService { fixture in
            try await fixture.psql(
                """
                INSERT INTO _key (id, hash, name, kind)
                SELECT 'k' || lpad(i::text, 8, '0'), sha256(convert_to(i::text, 'UTF8')), 'x', 'client'
                FROM generate_series(1, 999) AS i
                """
            )
            let last = try await make(fixture)
            try await expectError(.invalidArgument) { try await make(fixture) }
            try await fixture.service.run(Actions.keyRevoke, last.key.keyID, by: ServiceFixture.masterCaller)
            _ = try await make(fixture)
        }
    }

    /// What psql writes is refused by the table, or has the key refused.
    @Test func aKeyThatIsNotUnderstoodIsRefused() async throws {
        try await withService { fixture in
            let key = try await make(fixture, ["read"])
            try await fixture.psql("UPDATE _key SET scopes = '{read,everything}'")
            try await waiting(until: "the change is heard") {
                do throws(SkyrowError) {
                    _ = try await fixture.service.authenticate(credentials(key), for: Actions.recordQuery.description)
                    return false
                } catch {
                    return error.code == .accessKeyNotAccepted
                }
            }
            for wrong in ["kind = 'master'", "scopes = '{NULL}'", "hash = 'x'", "previous_until = now()", "id = 'x'"] {
                await #expect(throws: (any Error).self) { try await fixture.psql("UPDATE _key SET \(wrong)") }
            }
        }
    }

    /// A name that the service lets pass and the table does not is refused as the service refuses any.
    @Test func aNameThatIsNoneIsRefused() async throws {
        try await withService { fixture in
            for name in [
                "", " tablet", "tablet\u{A0}", "cafe\u{301}", "a\u{0}b", "a\nb", "a\u{9B}",
                String(repeating: "x", count: 256),
            ] {
                let error = try await expectError(.invalidArgument) { try await make(fixture, name: name) }
                #expect(error?.info["arguments"] == .list([.string("name")]), "\(name)")
            }
            for good in ["tablet", "caf\u{E9} 2", String(repeating: "x", count: 255)] {
                #expect(try await make(fixture, name: good).key.name == good)
            }
            await #expect(throws: (any Error).self) {
                try await fixture.psql("UPDATE _key SET name = ' ' || name")
            }
        }
    }

    /// A request with a named key has its name as a subject, whether the key limits anything or not; other keys give none.
    @Test func aCallerHasTheNameOfItsKey() async throws {
        try await withService { fixture in
            let service = fixture.service
            let token = try await service.signUp("ann").result.accessToken
            for (scopes, kind) in [([], KeyKind.client), (["read"], .client), ([], .server)] {
                let key = try await make(fixture, scopes, kind: kind, name: "tablet")
                for credentials in [credentials(key), credentials(key, token: token)] {
                    let caller = try await service.authenticate(credentials, for: Actions.recordQuery.description)
                    #expect(caller.keyName == "tablet")
                    #expect(Audience(of: caller).includes(.apiKey("tablet")))
                    #expect(!Audience(of: caller).includes(.apiKey("phone")))
                }
            }
            for credentials in [ServiceFixture.key, Credentials(accessToken: token), ServiceFixture.master] {
                let caller = try await service.authenticate(credentials, for: Actions.recordQuery.description)
                #expect(caller.keyName == nil)
            }
        }
    }

    /// Each process goes by another name of a key as soon as by another right of it.
    @Test func aKeyThatIsRenamedIsAnotherSubject() async throws {
        try await withService { fixture in
            let key = try await make(fixture, name: "tablet")
            _ = try await fixture.service.save(
                SaveRequest(draft("note/1", ["title": "x"])),
                by: ServiceFixture.masterCaller
            )
            try await fixture.psql(#"UPDATE note SET _access = '{"key:tablet": "read"}'"#)
            func reads() async throws -> Bool {
                let caller = try await fixture.service.authenticate(
                    credentials(key),
                    for: Actions.recordFetch.description
                )
                return try await fixture.service.fetch("note/1", by: caller) == ["saved"]
            }
            #expect(try await reads())
            try await fixture.psql("UPDATE _key SET name = 'phone'")
            try await waiting(until: "the other name is heard of") { try await !reads() }
            try await fixture.psql("UPDATE _key SET name = 'tablet'")
            try await waiting(until: "the name is heard of") { try await reads() }
        }
    }

    @Test func aUseIsWrittenDownOnceAMinute() async throws {
        try await withService { fixture in
            let service = fixture.service
            let key = try await make(fixture)
            let unused = try await make(fixture)
            let version = try await fixture.psql("SELECT value FROM _version WHERE name = 'keys'")
            for _ in 0..<3 { _ = try await service.authenticate(credentials(key), for: Actions.authLogIn.description) }
            await service.recordUses()
            let rows = try await fixture.psql("SELECT id FROM _key WHERE last_used_at IS NOT NULL")
            #expect(rows == key.key.id && rows != unused.key.id)
            // No one has to read the keys again for it.
            #expect(try await fixture.psql("SELECT value FROM _version WHERE name = 'keys'") == version)
            try await fixture.psql("UPDATE _key SET last_used_at = NULL")
            await service.recordUses()
            #expect(try await fixture.psql("SELECT count(*) FROM _key WHERE last_used_at IS NOT NULL") == "0")
            _ = try await service.authenticate(credentials(key), for: Actions.authLogIn.description)
            await service.recordUses()
            #expect(try await fixture.psql("SELECT count(*) FROM _key WHERE last_used_at IS NOT NULL") == "1")
        }
    }

    @Test func everyChangeAndTheFirstRefusedUseOfAMinuteAreKept() async throws {
        try await withService { fixture in
            let service = fixture.service
            let key = try await make(fixture, ["read"], kind: .server)
            let id = key.key.keyID
            _ = try await service.run(
                Actions.keyRotate,
                KeyRotation(id: id, overlap: .zero),
                by: ServiceFixture.masterCaller,
                origin: Self.origin
            )
            for _ in 0..<2 {
                try await service.run(Actions.keyRevoke, id, by: ServiceFixture.masterCaller, origin: Self.origin)
            }
            for minute in 0..<2 {
                for _ in 0..<50 {
                    try await expectError(.accessKeyNotAccepted) {
                        try await service.authenticate(credentials(key), for: Actions.recordQuery.description)
                    }
                    service.auditRefusedKey(credentials(key), from: Self.origin)
                }
                if minute == 0 { fixture.clock.advance(by: .seconds(60)) }
            }
            // A wrong key is no one's.
            service.auditRefusedKey(Credentials(key: "wrong"), from: Self.origin)
            await service.storeAudit()
            let events = try await fixture.psql(
                """
                SELECT concat_ws(' ', event, outcome, coalesce(actor, '-'), host(address), request_id, key_id = '\(id)',
                    data ->> 'kind') FROM _audit ORDER BY id
                """
            ).split(separator: "\n").map(String.init)
            #expect(
                events == [
                    "key.create ok master 192.0.2.7 r1 t server", "key.rotate ok master 192.0.2.7 r1 t",
                    "key.revoke ok master 192.0.2.7 r1 t", "key AccessKeyNotAccepted - 192.0.2.7 r1 t",
                    "key AccessKeyNotAccepted - 192.0.2.7 r1 t",
                ]
            )
        }
    }

    @Test func whileTheKeysCannotBeReadNoneOfThemCounts() async throws {
        try await withService { fixture in
            let key = try await make(fixture)
            _ = try await fixture.service.authenticate(credentials(key), for: Actions.authLogIn.description)
            try await fixture.psql("DELETE FROM _version WHERE name = 'keys'")
            fixture.clock.advance(by: .seconds(2))
            try await expectError(.unexpectedUnableToOpenDatabase) {
                try await fixture.service.authenticate(credentials(key), for: Actions.authLogIn.description)
            }
            // The keys of the settings go on, and a text that is no key asks for nothing.
            _ = try await fixture.service.authenticate(ServiceFixture.key, for: Actions.authLogIn.description)
            try await expectError(.accessKeyNotAccepted) {
                try await fixture.service.authenticate(Credentials(key: "sky_x"), for: Actions.authLogIn.description)
            }
            try await fixture.psql("INSERT INTO _version (name, value) VALUES ('keys', 100)")
            _ = try await fixture.service.authenticate(credentials(key), for: Actions.authLogIn.description)
        }
    }

    @Test func keysThatWereRevokedLongAgoAreRemoved() async throws {
        try await withService { fixture in
            for days in [89, 91] {
                let key = try await make(fixture)
                try await fixture.service.run(Actions.keyRevoke, key.key.keyID, by: ServiceFixture.masterCaller)
                try await fixture.psql(
                    "UPDATE _key SET revoked_at = now() - interval '\(days) days', name = '\(days)' WHERE id = '\(key.key.id)'"
                )
            }
            await fixture.service.purge()
            #expect(try await fixture.psql("SELECT name FROM _key") == "89")
        }
    }
}

extension AccessKey {
    fileprivate var keyID: KeyID { KeyID(id)! }
}
