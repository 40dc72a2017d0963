import SkyrowCrypto
import SkyrowJSON
import SkyrowModel
import SkyrowProtocol
import SkyrowStore

extension ActionTable {
    static let factors: [any AnyEntry] = [
        Entry(Actions.authLogInFactor, ActionService.logInByFactor),
        Entry(Actions.authTOTPEnrol, ActionService.enrolTOTP),
        Entry(Actions.authTOTPConfirm, ActionService.confirmTOTP),
        Entry(Actions.authTOTPRemove, ActionService.removeTOTP),
        Entry(Actions.authFactorList, ActionService.factors),
    ]
}

// MARK: - Having a second factor

extension ActionService {
    /// Throws `104 AccessTokenNotAccepted` if the session has ended meanwhile.
    fileprivate func enrolTOTP(_: Void, _ call: Call) async throws(SkyrowError) -> TOTPEnrolment {
        let user = try call.caller.requiredUserID
        var generator = SystemRandomNumberGenerator()
        let totp = TOTP(secret: (0..<TOTP.secretBytes).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
        let sealed = try await store.sealing().seal(totp.secret, for: FactorTable.placeOfSecret(user))
        guard try await store.factors.enrol(sealed, of: user, session: call.sessionHash) else {
            throw ended(call.caller)
        }
        let issuer = configuration.factorIssuer ?? application.rawValue
        return TOTPEnrolment(
            secret: Base32.encode(totp.secret),
            uri: totp.uri(issuer: issuer, account: try await store.factors.label(of: user))
        )
    }

    /// Activates the secret of the given code in place of the former one, and returns new recovery codes.
    ///
    /// Throws `110 ResourceNotFound` if no secret is pending, as after five tries, and `105 InvalidCredentials` for a wrong code.
    fileprivate func confirmTOTP(_ code: String, _ call: Call) async throws(SkyrowError) -> [String] {
        let user = try call.caller.requiredUserID
        let missing = SkyrowError(
            .resourceNotFound,
            "No secret is waiting for confirmation; call auth:totp:enrol first."
        )
        // Each try is counted before it is compared.
        guard let factor = try await store.factors.attemptEnrolment(of: user) else { throw missing }
        guard let digits = OneTimeCode.digits(code),
            let step = try await totp(factor, of: user)?.step(of: digits, around: factor.step)
        else { throw .factorRefused }
        let codes = (0..<RecoveryCode.count).map { _ in RecoveryCode() }
        let keys = try await store.factors.keys()
        let isConfirmed = try await store.factors.confirm(
            factor.sealed,
            of: user,
            session: call.sessionHash,
            step: step,
            recoveryHashes: codes.map { keys.hash($0.text, of: user) },
            recording: call.audit(.factorAdd)
        )
        guard isConfirmed else { throw missing }
        return codes.map(\.shown)
    }

    /// The caller is the user, or the master key acting as that user. Throws `110 ResourceNotFound` without a second factor.
    fileprivate func removeTOTP(_: Void, _ call: Call) async throws(SkyrowError) {
        let user = try call.caller.requiredUserID
        guard try await store.factors.remove(of: user, recording: call.audit(.factorRemove)) else {
            throw SkyrowError(.resourceNotFound, "The account has no second factor.")
        }
    }

    fileprivate func factors(_: Void, _ call: Call) async throws(SkyrowError) -> [AccountFactor] {
        try await store.factors.factors(of: try call.caller.requiredUserID)
    }

    /// Returns nil if no key decrypts the secret.
    private func totp(_ factor: StoredFactor, of user: UserID) async throws(SkyrowError) -> TOTP? {
        let secret = try await store.sealing().open(factor.sealed, for: FactorTable.placeOfSecret(user))
        return secret.map { TOTP(secret: $0) }
    }
}

// MARK: - Logging in with one

extension ActionService {
    /// Opens a session after the first factor, or requests the second one.
    ///
    /// Every way to log in uses it. The statement that opens the session also refuses an account with a second factor, so that
    /// one added meanwhile cannot be bypassed.
    ///
    /// Throws `137 SecondFactorRequired` for an account with a second factor, and `refusal` if `open` returns nil.
    func enter(
        _ account: AccountCredentials,
        _ opening: Opening,
        refusal: SkyrowError,
        _ open: (NewSession) async throws(SkyrowError) -> SignedInAccount?
    ) async throws(SkyrowError) -> AuthResult {
        guard !account.hasSecondFactor else {
            throw try await secondFactorRequired(of: account, opening, refusal: refusal)
        }
        return try await openSession(for: account.id, opening) { session throws(SkyrowError) in
            guard let account = try await open(session) else { throw refusal }
            return account
        }
    }

    /// Makes a login wait for its second factor; returns `refusal` if the account has changed since it was read.
    func secondFactorRequired(
        of account: AccountCredentials,
        _ opening: Opening,
        refusal: SkyrowError
    ) async throws(SkyrowError) -> SkyrowError {
        let handle = FactorHandle()
        let kinds = try await store.factors.begin(handle.hash, for: account, device: opening.device)
        guard let kinds else { return refusal }
        let error = SkyrowError.secondFactorRequired(handle: handle.text, factors: kinds)
        await audit(.logIn, refusedWith: error, of: account.id, from: opening.origin)
        return error
    }

    /// Completes a login with a code of the second factor.
    ///
    /// Throws `134 InvalidToken` for a handle that is not valid, for any reason, `105 InvalidCredentials` for a code that is
    /// wrong or used, and `131 RateLimited`.
    fileprivate func logInByFactor(_ request: FactorLogIn, _ call: Call) async throws(SkyrowError) -> AuthResult {
        try await loggingIn(by: .factor) { () async throws(SkyrowError) in
            let hash = FactorHandle.hash(of: request.handle)
            guard let pending = try await store.factors.pending(hash) else { throw .handleNotAccepted }
            let opening = Opening(.logIn, device: pending.device, origin: call.origin, level: 2)
            do throws(SkyrowError) {
                return try await proving(
                    request.code,
                    of: pending.user,
                    from: call.client,
                    pay: { () async throws(SkyrowError) in
                        guard try await self.store.factors.attempt(hash) else { throw .handleNotAccepted }
                    },
                    use: { proof async throws(SkyrowError) in
                        try await self.openSession(for: pending.user, opening) { session throws(SkyrowError) in
                            let account = try await self.store.users.logIn(hash, with: proof, session: session)
                            guard let account else { throw .factorRefused }
                            return account
                        }
                    }
                )
            } catch {
                await audit(.logIn, refusedWith: error, of: pending.user, from: call.origin)
                throw error
            }
        }
    }

    /// Compares a code with the second factor of an account after the guess was counted, and uses it.
    ///
    /// Throws `105 InvalidCredentials` for a wrong or malformed code, `131 RateLimited` after too many guesses, and what `pay`
    /// and `use` throw; if these throw anything but `105`, the guess does not count.
    ///
    /// - Parameters:
    ///   - pay: counts the try elsewhere, too.
    ///   - use: uses the code; throws `105` if it was used before.
    func proving<Success: Sendable>(
        _ code: String,
        of user: UserID,
        from client: ClientKey,
        pay: () async throws(SkyrowError) -> Void = { () async throws(SkyrowError) in },
        use: (FactorProof) async throws(SkyrowError) -> Success
    ) async throws(SkyrowError) -> Success {
        let account = GuessSource.Account(key: "_factor", value: user.rawValue)
        let source = GuessSource(accounts: [account], client: client.bytes, triesCodes: true)
        let claim = try await claim(client == .none ? nil : source)
        let success: Success
        do throws(SkyrowError) {
            try await pay()
            guard let proof = try await proof(code, of: user) else { throw .factorRefused }
            success = try await use(proof)
        } catch {
            if let claim, error.code != .invalidCredentials { try? await store.throttle.withdraw(claim) }
            throw error
        }
        if let claim { try? await store.throttle.succeed(claim, by: user) }
        return success
    }

    /// Returns what a code proves before it is used; nil for a wrong one.
    private func proof(_ code: String, of user: UserID) async throws(SkyrowError) -> FactorProof? {
        if let digits = OneTimeCode.digits(code) {
            guard let factor = try await store.factors.factor(of: user),
                let step = try await totp(factor, of: user)?.step(of: digits, around: factor.step)
            else { return nil }
            return .totp(sealed: factor.sealed, step: step)
        }
        guard let code = RecoveryCode(code) else { return nil }
        return .recovery(hashes: try await store.factors.keys().hashes(code.text, of: user))
    }
}

/// The handle of a login that waits for a second factor: `f_` and 43 letters, 256 random bits.
struct FactorHandle: Sendable {
    let text: String

    init() {
        var generator = SystemRandomNumberGenerator()
        text = "f_" + Base64URL.encode((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    }

    var hash: [UInt8] { FactorHandle.hash(of: text) }

    static func hash(of text: String) -> [UInt8] { SHA256.hash(of: text).bytes }
}

extension SkyrowError {
    /// One error for a wrong code and a used one.
    static let factorRefused = SkyrowError(.invalidCredentials, "The code is wrong or was already used.")
    fileprivate static let handleNotAccepted = SkyrowError(
        .invalidToken,
        "This login has expired. Begin again with the password."
    )
}
