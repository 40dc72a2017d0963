import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Synchronization
import Testing

@testable import SkyrowActions

/// Hooks of sign-ups, logins and logouts.
@Suite(.timeLimit(.minutes(60))) struct AccountHookTests {
    private static func signUp(_ name: String, _ profile: KeyValuePairs<String, RecordValue> = [:]) -> SignUpRequest {
        SignUpRequest(
            authData: ["username": name],
            password: "secret",
            profile: profile.map { (field($0.key), $0.value) }
        )
    }

    @Test func aSignUpShowsTheProfileAndNeverThePassword() async throws {
        let seen = Seen()
        let hooks = [
            TestHook.records("before", .beforeSave, on: "user") { record in
                seen.append(record)
                return sets(["city": .string("Basel"), "email": .string("carl@example.org")])
            },
            .records("after", .afterSave, on: "user") { record in
                seen.append(record)
                return .unchanged
            },
        ]
        try await withHooks(hooks) { hooked in
            let result = try await hooked.service.signUp(Self.signUp("carl", ["age": .integer(7)]))
            let profile = "user/\(result.userID)"
            #expect(hooked.runner.calls == ["before(\(profile))", "after(\(profile))"])
            let (before, after) = (seen.all[0], seen.all[1])
            #expect(before.original == nil && before.record.fields == [field("username"): "carl", field("age"): 7])
            #expect(before.record.owner == result.userID)
            #expect(after["city"] == "Basel" && after["email"] == "carl@example.org" && after["age"] == 7)
            for record in seen.all { #expect(!"\(record)".contains("secret")) }
            let stored = try await hooked.psql(
                "SELECT username, city, email, age FROM \"user\" WHERE username = 'carl'"
            )
            #expect(stored == "carl|Basel|carl@example.org|7")
        }
    }

    struct Refusal: Sendable {
        var verdict: HookVerdict
        var code: ErrorCode
    }

    @Test(arguments: [
        Refusal(verdict: .refused(ownError), code: ownError.code),
        Refusal(verdict: sets(["_verified": .boolean(true)]), code: .deniedArgument),
        Refusal(verdict: sets(["username": .string("")]), code: .invalidArgument),
        Refusal(verdict: sets(["username": .string("ann")]), code: .duplicated),
        Refusal(verdict: sets(["age": .string("x")]), code: .incompatibleSchema),
    ])
    func aRefusedSignUpMakesNoAccount(row: Refusal) async throws {
        let hooks = [
            TestHook.records("before", .beforeSave, on: nil) { _ in row.verdict },
            .records("after", .afterSave, on: nil) { _ in .unchanged },
        ]
        try await withHooks(hooks) { hooked in
            _ = try await hooked.plain.service.signUp(Self.signUp("dora", ["age": .integer(1)]))
            let before = try await hooked.psql("SELECT count(*) FROM _user")
            do throws(SkyrowError) {
                _ = try await hooked.service.signUp(Self.signUp("carl"))
                Issue.record("The account was made.")
            } catch {
                #expect(error.code == row.code || row.code == .incompatibleSchema && error.code == .invalidArgument)
            }
            #expect(try await hooked.psql("SELECT count(*) FROM _user") == before)
            #expect(hooked.runner.calls.allSatisfy { $0.hasPrefix("before") })
        }
    }

    @Test func anAnonymousAccountThatRegistersIsASaveOfItsProfile() async throws {
        let seen = Seen()
        let hook = TestHook.records("before", .beforeSave, on: "user") { record in
            seen.append(record)
            return .unchanged
        }
        try await withHooks([hook]) { hooked in
            let anonymous = try await hooked.service.signUp(SignUpRequest(authData: [:], password: nil))
            let token = Credentials(accessToken: anonymous.accessToken)
            let caller = try await hooked.service.authenticate(token, for: .user)
            let request = RegisterRequest(authData: ["username": "carl"], password: "secret")
            _ = try await hooked.service.register(request, by: caller, with: token)
            #expect(seen.all.map { $0.original == nil } == [true, false])
            #expect(seen.all[1]["username"] == "carl" && seen.all[1].changed == [field("username")])
        }
    }

    // MARK: Sessions

    private static let logIn = LogInRequest(authData: ["username": "ann"], password: "secret")

    @Test func aLoginRunsHooksOnceThePasswordWasRight() async throws {
        let hooks = [
            TestHook.other("before", .beforeLogin) { _, _ in .nothing },
            .other("after", .afterLogin) { _, _ throws(SkyrowError) in throw ownError },
            .other("out", .afterLogout) { _, _ in .nothing },
        ]
        try await withHooks(hooks) { hooked in
            var wrong = Self.logIn
            wrong.password = "wrong"
            let request = wrong
            try await expectError(.invalidCredentials) { try await hooked.service.logIn(request) }
            #expect(hooked.runner.calls.isEmpty)
            let result = try await hooked.service.logIn(Self.logIn)
            let profile = "user/\(result.userID)"
            #expect(hooked.runner.calls == ["before(\(profile))", "after(\(profile))"])
            let failure = Observation.hookFailed(.afterLogin, name: "after", ownError.code)
            #expect(hooked.plain.observations.count { $0 == failure } == 1)
            let token = Credentials(accessToken: result.accessToken)
            let caller = try await hooked.service.authenticate(token, for: .user)
            _ = try await hooked.service.run(Actions.authLogOut, by: caller, with: token)
            #expect(hooked.runner.calls.last == "out(\(profile))")
        }
    }

    @Test(arguments: [true, false]) func aHookRefusesALogin(isRequired: Bool) async throws {
        let errors: [(SkyrowError, isAway: Bool)] = [
            (ownError, false), (SkyrowError(.pluginUnavailable, "Away."), true),
        ]
        for (error, isAway) in errors {
            let hook = TestHook.other("before", .beforeLogin, isRequired: isRequired) { _, _ throws(SkyrowError) in
                throw error
            }
            try await withHooks([hook], test: "aHookRefusesALogin\(isRequired)\(isAway)") { hooked in
                let before = try await hooked.psql("SELECT count(*) FROM _session")
                if isAway, !isRequired {
                    _ = try await hooked.service.logIn(Self.logIn)
                    #expect(hooked.plain.observations.count { $0 == .hooksSkipped(1) } == 1)
                } else {
                    try await expectError(error.code) { try await hooked.service.logIn(Self.logIn) }
                    #expect(try await hooked.psql("SELECT count(*) FROM _session") == before)
                }
            }
        }
    }

    @Test func aPasswordThatIsReplacedAtLoginIsNotReplacedByARefusedOne() async throws {
        let hook = TestHook.other("before", .beforeLogin) { _, _ throws(SkyrowError) in throw ownError }
        try await withHooks([hook]) { hooked in
            var request = Self.logIn
            request.newPassword = "another"
            let changing = request
            try await expectError(ownError.code) { try await hooked.service.logIn(changing) }
            _ = try await hooked.plain.service.logIn(Self.logIn)
        }
    }
}

/// A list that hooks append to.
private final class Seen: Sendable {
    private let values = Mutex<[HookedRecord]>([])

    var all: [HookedRecord] { values.withLock { $0 } }

    func append(_ value: HookedRecord) { values.withLock { $0.append(value) } }
}
