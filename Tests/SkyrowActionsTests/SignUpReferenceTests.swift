import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// References in the profiles of new accounts, which are judged as those of every other save.
@Suite(.timeLimit(.minutes(60))) struct SignUpReferenceTests {
    private enum Way: CaseIterable {
        case anonymous, password, register
        /// No session is opened before the address is proved.
        case verified
    }

    /// Records of bob, and whether a new user may refer to them.
    private static let targets: [(id: String, access: AccessList?, mayRefer: Bool)] = [
        ("note/open", nil, true),
        ("note/users", AccessList([AccessEntry(.users, .read)]), true),
        ("note/hidden", AccessList([]), false),
        ("note/staff", AccessList([AccessEntry(.role("staff"), .read)]), false),
        ("note/missing", nil, false),
    ]

    private func signUp(
        _ way: Way,
        _ name: String,
        referringTo target: String,
        _ service: ActionService,
        by caller: Caller = .anonymous
    ) async throws {
        let profile: [(name: FieldName, value: RecordValue)] = [(field("pinned"), .reference(id(target)))]
        let authData = ["username": name, "email": "\(name)@example.org"]
        switch way {
        case .anonymous:
            _ = try await service.signUp(SignUpRequest(profile: profile), by: caller)
        case .password:
            _ = try await service.signUp(
                SignUpRequest(authData: ["username": name], password: "secret", profile: profile),
                by: caller
            )
        case .verified:
            do throws(SkyrowError) {
                _ = try await service.signUp(
                    SignUpRequest(authData: authData, password: "secret", profile: profile),
                    by: caller
                )
            } catch {
                guard error.code == .verificationRequired else { throw error }
            }
        case .register:
            let account = try await service.signUp(SignUpRequest())
            let own = Credentials.token(account.accessToken)
            var user = try await service.authenticate(own, for: .user)
            user.key = caller.key
            _ = try await service.register(
                RegisterRequest(authData: authData, password: "secret", profile: profile),
                by: user,
                with: own
            )
        }
    }

    /// Makes bob's records, and the field of profiles.
    private func prepare(_ service: ActionService) async throws -> Caller {
        let bob = try await service.signUp("bob").caller
        for (target, access, _) in Self.targets where target != "note/missing" {
            var note = draft(target, ["title": "words"])
            note.access = access
            #expect(try await service.save(SaveRequest(note), by: bob).summaries == ["saved"])
        }
        try await signUp(.password, "first", referringTo: "note/open", service)
        return bob
    }

    @Test func aHiddenRecordIsReferredToAsLittleAsAMissingOne() async throws {
        try await withMailingService(.required) { mailing in
            let plain = mailing.fixture.service
            let bob = try await prepare(plain)
            for way in Way.allCases {
                let service = way == .verified ? mailing.service : plain
                var refusals: Set<SkyrowError> = []
                for (number, target) in Self.targets.enumerated() {
                    do {
                        try await signUp(way, "\(way)\(number)", referringTo: target.id, service)
                        #expect(target.mayRefer, "\(way) \(target.id)")
                    } catch let error as SkyrowError {
                        #expect(!target.mayRefer && error.code == .invalidArgument, "\(way) \(target.id): \(error)")
                        #expect(error.info["arguments"] == .list([.string("pinned")]), "\(way) \(target.id)")
                        refusals.insert(error)
                    }
                }
                #expect(refusals.count == 1, "\(way): \(refusals)")
            }
            // What is hidden stays its owner's to delete.
            #expect(
                try await plain.delete(["note/hidden", "note/staff"], by: bob).summaries == ["deleted", "deleted"]
            )
            let referring = try await mailing.fixture.psql("SELECT count(*) FROM \"user\" WHERE pinned IS NOT NULL")
            #expect(referring == "\(1 + 2 * Way.allCases.count)")
        }
    }

    /// Clients send back whole profiles, also with what is hidden meanwhile.
    @Test func aRegistrationKeepsTheReferenceThatIsThere() async throws {
        try await withService { fixture in
            let service = fixture.service
            let bob = try await prepare(service)
            let profile: [(name: FieldName, value: RecordValue)] = [(field("pinned"), .reference(id("note/users")))]
            let account = try await service.signUp(SignUpRequest(profile: profile))
            var hidden = draft("note/users")
            hidden.access = AccessList([])
            #expect(try await service.save(SaveRequest(hidden), by: bob).summaries == ["saved"])
            let own = Credentials.token(account.accessToken)
            let caller = try await service.authenticate(own, for: .user)
            _ = try await service.register(
                RegisterRequest(authData: ["username": "ann"], password: "secret", profile: profile),
                by: caller,
                with: own
            )
            #expect(try await fixture.psql("SELECT pinned FROM \"user\" WHERE username = 'ann'") == "users")
        }
    }

    /// The master key refers to all records, as in a save.
    @Test func theMasterKeyAndTheOperatorReferToHiddenRecords() async throws {
        try await withService { fixture in
            _ = try await prepare(fixture.service)
            try await signUp(
                .password,
                "ann",
                referringTo: "note/hidden",
                fixture.service,
                by: ServiceFixture.masterCaller
            )
            _ = try await fixture.service.createAccount(
                SignUpRequest(
                    authData: ["username": "carl"],
                    password: "a long secret",
                    profile: [(field("pinned"), .reference(id("note/staff")))]
                )
            )
            try await expectError(.invalidArgument) {
                try await signUp(
                    .password,
                    "dora",
                    referringTo: "note/missing",
                    fixture.service,
                    by: ServiceFixture.masterCaller
                )
            }
        }
    }

    @Test(
        arguments: [
            (["signup"], ErrorCode.permissionDenied), (["signup", "type:note"], nil), (["signup", "read"], nil),
            (["signup", "action:me"], .permissionDenied),
            (["signup", "type:note:read"], nil), (["signup", "type:other"], .permissionDenied),
        ] as [([String], ErrorCode?)]
    )
    func aKeyReachesTheTypesOfItsScopesAlone(scopes: [String], refusal: ErrorCode?) async throws {
        try await withService { fixture in
            let service = fixture.service
            _ = try await prepare(service)
            var caller = Caller.anonymous
            let key = try #require(KeyID("k00000001"))
            caller.key = KeyGrant(key, named: "web", .client, try scopes.map { try KeyScope($0) })
            for way in [Way.anonymous, .password, .register] {
                if let refusal {
                    for target in ["note/open", "note/hidden", "note/missing", "unknown/1"] {
                        try await expectError(refusal) {
                            try await signUp(way, "\(way)", referringTo: target, service, by: caller)
                        }
                    }
                } else {
                    try await signUp(way, "\(way)", referringTo: "note/open", service, by: caller)
                }
            }
            #expect(try await fixture.psql("SELECT count(*) FROM pg_class WHERE relname = 'unknown'") == "0")
        }
    }
}
