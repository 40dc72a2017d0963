import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// What the address that a provider has verified means for accounts (`trust-email`).
@Suite(.timeLimit(.minutes(60))) struct TrustedEmailTests {
    private static let ann = #"{"sub":"ann","email":"Ann@example.org","email_verified":true}"#

    private func signUp(_ flows: FlowFixture, _ name: String, _ email: String) async throws -> AuthResult {
        try await flows.service.signUp(SignUpRequest(authData: ["username": name, "email": email], password: "secret"))
    }

    private func emails(_ flows: FlowFixture) async throws -> String {
        try await flows.fixture.psql(
            """
            SELECT coalesce(profile.email, '-') || ' ' || coalesce(account.verified_email, '-')
            FROM "user" AS profile JOIN _user AS account ON account.id = profile._id ORDER BY profile._created_at
            """
        )
    }

    @Test func anAccountThatHasProvedTheAddressIsNamedAndNotTaken() async throws {
        try await withFlows(trustsEmail: true) { flows in
            let ann = try await signUp(flows, "ann", "ann@example.org")
            try await flows.fixture.psql("UPDATE _user SET verified_email = 'ann@example.org'")
            try await flows.provider.set(user: Self.ann)
            let error = try await expectError(.duplicated) { try await flows.logIn() }
            #expect(error?.info["link"] == .boolean(true))
            #expect(try await flows.fixture.psql("SELECT count(*) FROM _user") == "1")
            #expect(try await flows.fixture.psql("SELECT count(*) FROM _identity") == "0")
            // Its user links the provider after a log-in, and is in by it from then on.
            _ = try await flows.finish(try await flows.code(purpose: .link, as: ann), as: ann)
            let again = try await flows.logIn()
            #expect(again.userID == ann.userID && again.isNew == false)
        }
    }

    @Test func anAccountThatHasNotProvedItLosesIt() async throws {
        try await withFlows(trustsEmail: true) { flows in
            let squatter = try await signUp(flows, "mallory", "ann@example.org")
            try await flows.provider.set(user: Self.ann)
            let ann = try await flows.logIn()
            #expect(ann.isNew == true && ann.userID != squatter.userID)
            #expect(try await emails(flows) == "- -\nAnn@example.org Ann@example.org")
            // The other one keeps its id, its password and its session.
            let still = try await flows.service.logIn(
                LogInRequest(authData: ["username": "mallory"], password: "secret")
            )
            #expect(still.userID == squatter.userID)
            #expect(
                try await flows.fixture.psql("SELECT user_id FROM _audit WHERE event = 'address.lost'")
                    == squatter.userID.rawValue
            )
            // Another provider that has verified it is pointed to the account.
            try await flows.provider.set(user: #"{"sub":"other","email":"ann@example.org","email_verified":true}"#)
            try await expectError(.duplicated) { try await flows.logIn("second") }
        }
    }

    @Test(arguments: [
        #"{"sub":"a","email":"ann@example.org","email_verified":false}"#, #"{"sub":"a","email":"ann@example.org"}"#,
        #"{"sub":"a","email":"ann@example.org","email_verified":"yes"}"#, #"{"sub":"a","email_verified":true}"#,
        #"{"sub":"a","email":"no address","email_verified":true}"#,
    ])
    func whatTheProviderHasNotVerifiedMeansNothing(_ user: String) async throws {
        try await withFlows(trustsEmail: true) { flows in
            _ = try await signUp(flows, "mallory", "ann@example.org")
            try await flows.provider.set(user: user)
            #expect(try await flows.logIn().isNew == true)
            #expect(try await emails(flows) == "ann@example.org -\n- -")
        }
    }

    @Test func withoutTheSettingAnAddressMeansNothing() async throws {
        try await withFlows { flows in
            _ = try await signUp(flows, "mallory", "ann@example.org")
            try await flows.provider.set(user: Self.ann)
            #expect(try await flows.logIn().isNew == true)
            #expect(try await emails(flows) == "ann@example.org -\n- -")
        }
    }

    @Test func ofTwoFirstSignInsAtOnceOneGetsTheAddress() async throws {
        try await withFlows(trustsEmail: true) { flows in
            var codes: [String] = []
            for (subject, name) in [("a", "test"), ("b", "second")] {
                try await flows.provider.set(
                    user: #"{"sub":"\#(subject)","email":"ann@example.org","email_verified":true}"#
                )
                codes.append(try #require(try await flows.code(name)))
            }
            let made = try await withThrowingTaskGroup(of: Bool.self) { group in
                for code in codes {
                    group.addTask {
                        do {
                            return try await flows.finish(code).isNew == true
                        } catch let error as SkyrowError where error.code == .duplicated {
                            return false
                        }
                    }
                }
                return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(made == 1)
            #expect(try await emails(flows) == "ann@example.org ann@example.org")
        }
    }
}
