import SkyrowJSON
import SkyrowModel
import SkyrowPostgres
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowActions
@testable import SkyrowStore

/// The tokens of providers at rest.
@Suite(.timeLimit(.minutes(60))) struct ProviderTokenTests {
    private func token(_ flows: FlowFixture, _ result: AuthResult, _ name: String = "test") async throws -> JSONText {
        let caller = try await flows.service.authenticate(flows.credentials(of: result), for: .user)
        return try await flows.service.run(Actions.authProviderToken, name, by: caller).response
    }

    private func member(_ name: String, _ text: JSONText) throws -> String? {
        try JSONDocument(text.utf8).withRoot { root in
            root.uniqueMembers.first { $0.name == name }?.value.string
        }
    }

    @Test func theyAreForTheirUserAndSealed() async throws {
        try await withFlows(keepsTokens: true) { flows in
            let ann = try await flows.logIn()
            let tokens = try await token(flows, ann)
            let access = try #require(try member("access_token", tokens))
            #expect(access.hasPrefix("at-"))
            #expect(try member("refresh_token", tokens) == "rt-1")
            let dump = try await flows.fixture.psql("SELECT encode(token_sealed, 'escape') FROM _identity")
            #expect(!dump.isEmpty && !dump.contains("at-") && !dump.contains("rt-1"))
            // The provider gives a refresh token the first time alone, which is kept.
            let again = try await flows.logIn()
            let renewed = try await token(flows, again)
            #expect(try member("refresh_token", renewed) == "rt-1")
            #expect(try member("access_token", renewed) != access)
            let bob = try await flows.service.signUp(SignUpRequest())
            try await expectError(.resourceNotFound) { try await token(flows, bob) }
            try await expectError(.resourceNotFound) { try await token(flows, ann, "second") }
            let master = Caller(kind: .master(actingAs: ann.userID))
            #expect(try await flows.service.run(Actions.authProviderToken, "test", by: master).subject == "ann")
            // What is copied to another user or subject opens nothing.
            try await flows.fixture.psql(
                """
                INSERT INTO _identity (provider, subject, user_id, token_sealed)
                SELECT 'test', 'bob', '\(bob.userID)', token_sealed FROM _identity WHERE subject = 'ann'
                """
            )
            try await expectError(.resourceNotFound) { try await token(flows, bob) }
        }
    }

    @Test func withoutTheSettingNoneAreKept() async throws {
        try await withFlows { flows in
            let ann = try await flows.logIn()
            try await expectError(.resourceNotFound) { try await token(flows, ann) }
            #expect(try await flows.fixture.psql("SELECT token_sealed IS NULL FROM _identity") == "t")
        }
    }

    @Test(
        arguments: [
            (
                #"{"access_token":"n","expires_in":1}"#, #"{"refresh_token":"r"}"#,
                #"{"access_token":"n","expires_in":1,"refresh_token":"r"}"#
            ),
            (#"{"refresh_token":"n"}"#, #"{"refresh_token":"r"}"#, nil), (#"{"a":1}"#, #"{"b":1}"#, nil),
            (#"[1]"#, #"{"refresh_token":"r"}"#, nil),
        ] as [(String, String, String?)]
    )
    func aRefreshTokenIsKeptWhereNoneComes(_ new: String, _ old: String, _ merged: String?) {
        let result = IdentityTable.merged(Array(new.utf8), keepingRefreshTokenOf: Array(old.utf8))
        #expect(result.map { String(decoding: $0, as: UTF8.self) } == merged)
    }

    // MARK: Other keys

    private func key(_ name: String, _ byte: UInt8) throws -> SealingKey {
        try #require(SealingKey(name: name, bytes: [UInt8](repeating: byte, count: 32)))
    }

    private func withStore<Success>(
        _ flows: FlowFixture,
        _ keys: [SealingKey],
        _ body: (RecordStore) async throws -> Success
    ) async throws -> Success {
        try await withPostgresClient(flows.fixture.database.url, logger: .quiet) { client in
            try await body(
                RecordStore(client: client, schema: "app", mode: .production, sealingKeys: keys, logger: .quiet)
            )
        }
    }

    /// Which key has sealed the values of a column, and how many.
    private func keys(_ flows: FlowFixture, _ table: String, _ column: String) async throws -> String {
        try await flows.fixture.psql(
            """
            SELECT encode(substring(\(column) FROM 3 FOR get_byte(\(column), 1)), 'escape') AS key, count(*)
            FROM \(table) WHERE \(column) IS NOT NULL GROUP BY 1 ORDER BY 1
            """
        )
    }

    @Test func theyAreSealedAnewInBatchesAndARunGoesOn() async throws {
        try await withFlows { flows in
            var users: [AuthResult] = []
            for number in 0..<5 {
                let tokens = JSONText(validated: Array(#"{"access_token":"at-\#(number)"}"#.utf8))
                let principal = OAuthPrincipal(provider: "acme", id: "p\(number)")
                let signUp = OAuthSignUp(OAuthLogIn(principal, OAuthResponse(tokens: tokens)))
                users.append(try await flows.service.run(Actions.ssoOAuthSignUp, signUp))
            }
            let caller = try await flows.service.authenticate(flows.credentials(of: users[0]), for: .user)
            _ = try await flows.service.run(Actions.authTOTPEnrol, (), by: caller)
            #expect(try await keys(flows, "_identity", "token_sealed") == "_1|5")
            let old = try key("k1", 1)
            let new = try key("k2", 2)
            // To the first key of a file, in batches of two.
            try await withStore(flows, [old]) { store in
                var steps: [Int] = []
                let counts = try await store.reseal(.tokens, batch: 2) { steps.append($0.resealed) }
                #expect(counts.resealed == 5 && counts.unreadable == 0 && steps == [2, 4, 5])
                #expect(try await store.reseal(.pendingSecrets).resealed == 1)
                #expect(try await store.reseal(.secrets).resealed == 0)
                // What is done is not done again.
                #expect(try await store.reseal(.tokens) == ResealingCounts())
            }
            #expect(try await keys(flows, "_identity", "token_sealed") == "k1|5")
            #expect(try await keys(flows, "_factor", "pending_sealed") == "k1|1")
            // A run that was interrupted has left some behind, and one value is damaged.
            try await flows.fixture.psql(
                """
                UPDATE _identity SET token_sealed = set_byte(token_sealed, octet_length(token_sealed) - 1,
                    get_byte(token_sealed, octet_length(token_sealed) - 1) # 1) WHERE subject = 'p3'
                """
            )
            try await withStore(flows, [new, old]) { store in
                let counts = try await store.reseal(.tokens, batch: 1)
                #expect(counts.resealed == 4 && counts.unreadable == 1)
                let tokens = try await store.identities.tokens(of: users[4].userID, provider: "acme")
                #expect(tokens.map { String(decoding: $0.response.utf8, as: UTF8.self) } == #"{"access_token":"at-4"}"#)
            }
            #expect(try await keys(flows, "_identity", "token_sealed") == "k1|1\nk2|4")
            // Without the key nothing is opened, and nothing is lost.
            try await withStore(flows, [try key("k3", 3)]) { store in
                let counts = try await store.reseal(.tokens)
                #expect(counts.resealed == 0 && counts.unreadable == 5)
            }
            #expect(try await keys(flows, "_identity", "token_sealed") == "k1|1\nk2|4")
        }
    }
}
