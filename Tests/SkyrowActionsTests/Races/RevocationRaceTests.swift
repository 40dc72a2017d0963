import SkyrowModel
import SkyrowPostgres
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// Sessions and roles that are taken by one service while all three are asked with them.
@Suite(.timeLimit(.minutes(60))) struct RevocationRaceTests {
    enum Loss: String, CaseIterable, Sendable {
        case password, reset, disable, logOut, revoke, revokeAll, deletion
        /// The role by which the user reads the note; the session goes on.
        case role, roleOfRole
    }

    private struct Holder: Sendable {
        let loss: Loss
        let name: String
        let user: UserID
        let caller: Caller
        let own: Credentials
        /// Of a mail, where the loss needs one.
        var code = ""

        /// Whether the session counts and the user reads the note: one look at the session, and one statement.
        func reads(_ service: ActionService) async throws(SkyrowError) -> Bool {
            do {
                let caller = try await service.authenticate(own, for: .user)
                return try await service.fetch("note/\(name)", by: caller) == ["saved"]
            } catch {
                guard [.accessTokenNotAccepted, .userDisabled].contains(error.code) else { throw error }
                return false
            }
        }

        /// Takes what the user has.
        func lose(_ service: ActionService) async throws {
            let master = ServiceFixture.masterCaller
            switch loss {
            case .password:
                let request = ChangePasswordRequest(oldPassword: RacingServices.password, password: "another secret")
                _ = try await service.changePassword(request, by: caller)
            case .reset:
                let code = CodeConfirmation(code: code)
                _ = try await service.run(
                    Actions.authResetConfirm,
                    ResetConfirmation(code: code, password: "another secret")
                )
            case .disable:
                try await service.run(Actions.authDisableSet, DisabledState(userID: user, isDisabled: true), by: master)
            case .logOut: try await service.run(Actions.authLogOut, with: own)
            case .revoke:
                let sessions = try await service.run(Actions.sessionList, by: caller, with: own)
                _ = try await service.run(Actions.sessionRevoke, .ids(sessions.map(\.id)), by: caller, with: own)
            case .revokeAll:
                _ = try await service.run(Actions.sessionRevoke, .all(exceptCurrent: false), by: caller, with: own)
            case .deletion: _ = try await service.run(Actions.userDelete, UserDeletion(userID: user), by: master)
            case .role:
                let roles = [RoleName("role-\(name)")]
                try await service.run(Actions.roleRevoke, RoleAssignment(roles: roles, users: [user]), by: master)
            case .roleOfRole:
                let request = RoleChange(role: RoleName("upper-\(name)"), roles: [RoleName("role-\(name)")])
                _ = try await service.run(Actions.roleRemove, request, by: master)
            }
        }
    }

    private func holder(_ loss: Loss, _ name: String, _ racing: RacingServices) async throws -> Holder {
        let (result, caller, own) = try await racing.signUp(name)
        let isIndirect = loss == .roleOfRole
        try await racing.run(
            """
            INSERT INTO _role (name) VALUES ('role-\(name)'), ('upper-\(name)');
            INSERT INTO _user_role (user_id, role) VALUES ('\(result.userID)', 'role-\(name)');
            INSERT INTO _role_role (role, member) VALUES ('upper-\(name)', 'role-\(name)');
            INSERT INTO note (_id, _access) VALUES ('\(name)', '{"role:\(isIndirect ? "upper" : "role")-\(name)": "read"}');
            """
        )
        var holder = Holder(loss: loss, name: name, user: result.userID, caller: caller, own: own)
        if loss == .reset {
            _ = try await racing[0].run(Actions.authResetRequest, CodeRequest(email: "\(name)@example.org"))
            holder.code = try await racing.mail(to: "\(name)@example.org").linkCode
        }
        // All of them know of it, and remember the session.
        racing.letASecondPass()
        for service in racing.services {
            try await waiting(until: "\(name) reads") { try await holder.reads(service) }
        }
        return holder
    }

    /// What is taken is gone in the service that took it by then, in the others when they hear of it; where they do not, a look
    /// that begins when their clocks have gone on by a second finds it gone.
    @Test(arguments: Hearing.allCases)
    func whatIsTakenIsGoneInASecond(_ hearing: Hearing) async throws {
        try await withRacingServices(hearing) { racing in
            try await racing.run("SELECT _create_type('note')")
            for service in racing.services { try await service.store.cache.reload() }
            for round in 0..<raceRounds(1) {
                var holders: [Holder] = []
                for loss in Loss.allCases {
                    let name = "\(loss.rawValue.lowercased())-\(round)"
                    holders.append(try await holder(loss, name, racing))
                }
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for (place, holder) in holders.enumerated() {
                        group.addTask { try await Self.take(holder, hearing, place + round, racing) }
                    }
                    try await group.waitForAll()
                }
            }
        }
    }

    /// Whether a second has passed since the right was taken, and how many looks succeeded that began after it.
    private actor Looks {
        private var refusals: [Int: Int] = [:]
        private(set) var isTaken = false
        private(set) var late = 0

        func take() { isTaken = true }

        /// Returns whether looks by a service go on: until it has refused many in a row, since what is gone does not come back.
        ///
        /// - Parameter isLate: whether a success is one too many.
        func note(_ succeeded: Bool, by service: Int, isLate: Bool) -> Bool {
            guard isTaken else { return true }
            refusals[service, default: 0] += 1
            if succeeded {
                refusals[service] = 0
                if isLate { late += 1 }
            }
            return refusals[service, default: 0] < 20 && late < 10
        }
    }

    private static func take(
        _ holder: Holder,
        _ hearing: Hearing,
        _ place: Int,
        _ racing: RacingServices
    ) async throws {
        let looks = Looks()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, service) in racing.services.enumerated() {
                group.addTask {
                    var goesOn = true
                    while goesOn {
                        // Where notices arrive, clocks stand still, and without a notice the looks would never end.
                        let isLate = await looks.isTaken && hearing != .notices
                        let succeeded = try await holder.reads(service)
                        goesOn = await looks.note(succeeded, by: number, isLate: isLate)
                    }
                }
            }
            let taker = racing[place]
            try await holder.lose(taker)
            let readsThere = try await holder.reads(taker)
            #expect(!readsThere, "\(holder.name) of \(hearing), in the service that took it")
            racing.letASecondPass()
            await looks.take()
            try await group.waitForAll()
        }
        let late = await looks.late
        #expect(late == 0, "\(holder.name) of \(hearing)")
    }

    // MARK: Tokens that are made meanwhile

    /// What bars everyone who has the password or a token from all that comes later.
    enum Ending: String, CaseIterable, Sendable { case password, reset, disable, revoke, deletion }

    private enum Use: CaseIterable, Sendable { case me, rotate, logIn, logInAgain }

    /// Tokens that logins, rotations and `me` hand out in three services while the account is taken from those who use them.
    @Test func noTokenThatIsMadeMeanwhileIsAlive() async throws {
        try await withRacingServices { racing in
            try await racing.run("SELECT _create_type('note')")
            for service in racing.services { try await service.store.cache.reload() }
            for round in 0..<raceRounds(2) {
                for ending in Ending.allCases { try await end(ending, "\(ending.rawValue)-\(round)", racing) }
            }
        }
    }

    private func end(_ ending: Ending, _ name: String, _ racing: RacingServices) async throws {
        let loss: Loss =
            switch ending {
            case .password: .password
            case .reset: .reset
            case .disable: .disable
            case .revoke: .revokeAll
            case .deletion: .deletion
            }
        let holder = try await holder(loss, name, racing)
        // Logins after all sessions are revoked are allowed.
        let uses: [Use] = ending == .revoke ? [.me, .rotate] : Use.allCases
        let count = Counter()
        let tasks = (0..<Race.tasks).map { task in
            Task { try await Self.useUp(holder, uses[task % uses.count], racing[task], count) }
        }
        try await waiting(until: "tokens are made", hearing: [count]) { count.value >= 2 * Race.tasks }
        try await holder.lose(racing[name.utf8.count])
        var tokens: Set<String> = []
        for task in tasks { tokens.formUnion(try await task.value) }
        if ending == .disable {
            let request = DisabledState(userID: holder.user, isDisabled: false)
            try await racing[0].run(Actions.authDisableSet, request, by: ServiceFixture.masterCaller)
        }
        for service in racing.services {
            // Every session is looked up: what the database has is what counts.
            service.forget(.all)
            for token in tokens {
                let caller = try? await service.authenticate(.token(token), for: .user)
                guard caller == nil else { throw RaceLost("\(name): a token of \(tokens.count) is alive") }
            }
        }
    }

    /// Makes tokens until none is accepted; returns all of them.
    private static func useUp(
        _ holder: Holder,
        _ use: Use,
        _ service: ActionService,
        _ count: Counter
    ) async throws(SkyrowError) -> Set<String> {
        var current = holder.own.accessToken ?? ""
        var tokens: Set<String> = [current]
        while true {
            do {
                current = try await token(use, holder.name, current, service)
            } catch {
                let ends: [ErrorCode] = [.accessTokenNotAccepted, .invalidCredentials, .userDisabled]
                // Of those that rotate one token one goes on; the others end.
                guard ends.contains(error.code) else { throw error }
                return tokens
            }
            tokens.insert(current)
            count.increment()
        }
    }

    private static func token(
        _ use: Use,
        _ name: String,
        _ current: String,
        _ service: ActionService
    ) async throws(SkyrowError) -> String {
        let credentials = Credentials.token(current)
        switch use {
        case .me:
            let caller = try await service.authenticate(credentials, for: .user)
            return try await service.run(Actions.me, by: caller, with: credentials).accessToken
        case .rotate:
            let caller = try await service.authenticate(credentials, for: .user)
            return try await service.run(Actions.authRotate, by: caller, with: credentials).accessToken
        case .logIn, .logInAgain:
            let request = LogInRequest(authData: ["username": name], password: RacingServices.password)
            return try await service.logIn(request).accessToken
        }
    }
}
