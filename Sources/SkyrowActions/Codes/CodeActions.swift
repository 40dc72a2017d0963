import SkyrowJSON
package import SkyrowModel
package import SkyrowProtocol
import SkyrowRemote
import SkyrowStore
import Synchronization

/// Whether the addresses of accounts are verified.
package enum AddressVerification: String, Hashable, Sendable, CaseIterable {
    case off
    /// A sign-up sends a mail; accounts work without verification.
    case optional
    /// An account with a password and an address can log in once the address is verified.
    case required
}

extension CodeKind {
    /// The page of a link; nil for kinds without one.
    var page: String? {
        switch self {
        case .verify: "auth/verify"
        case .reset, .invite: "auth/reset"
        case .undo: "auth/undo"
        case .email, .link: nil
        }
    }
}

extension ActionTable {
    static let codes: [any AnyEntry] = [
        Entry(Actions.authVerifyRequest, ActionService.requestVerification),
        Entry(Actions.authVerifyConfirm, ActionService.confirmAddress),
        Entry(Actions.authResetRequest, ActionService.requestReset),
        Entry(Actions.authResetConfirm, ActionService.resetPassword),
        Entry(Actions.authResetPassword, ActionService.setPassword),
        Entry(Actions.authEmailChange, ActionService.requestAddressChange),
        Entry(Actions.authEmailConfirm, ActionService.confirmAddressChange),
        Entry(Actions.authEmailUndo, ActionService.undoAddressChange),
        Entry(Actions.authLinkRequest, ActionService.requestLogInLink),
        Entry(Actions.authLinkLogIn, ActionService.logIn(byMail:_:)),
    ]
}

// MARK: - Asking for codes

extension ActionService {
    /// Throws `111 NotSupported` if addresses are not verified, and `101 NotAuthenticated` without an address and a user.
    fileprivate func requestVerification(
        _ request: VerificationRequest,
        _ call: Call
    ) async throws(SkyrowError) -> CodeTicket {
        guard configuration.mail != nil, configuration.verification != .off else {
            throw SkyrowError(.notSupported, "This service does not verify addresses.")
        }
        if let email = request.email {
            if let user = call.caller.userID { try await store.codes.begin(user, at: email) }
            return try await issue(.verify, to: email, language: request.language, from: call.client)
        }
        guard let user = call.caller.userID else {
            throw SkyrowError(.notAuthenticated, "Log in first, or send the address.")
        }
        guard let email = try await store.codes.address(of: user) else {
            throw .invalidArgument("The account has no address.", "email")
        }
        try await store.codes.begin(user, at: email)
        return try await issue(.verify, to: email, language: request.language, from: call.client)
    }

    /// Throws `111 NotSupported` if the service sends no mail, or passwords are switched off.
    fileprivate func requestReset(_ request: CodeRequest, _ call: Call) async throws(SkyrowError) -> CodeTicket {
        guard configuration.mail != nil else { throw SkyrowError(.notSupported, "This service does not send mail.") }
        try configuration.accounts.requirePasswords()
        return try await issue(.reset, to: request.email, language: request.language, from: call.client)
    }

    /// Issues a code for an address and queues its mail, if an account has the address and there were not too many mails.
    ///
    /// The work and the response are the same in any case. A request above the limits gets a handle without a code, so that only
    /// the handle that belongs to the mail works.
    ///
    /// - Parameter user: the account that gets the address after confirmation; nil for a code of the account that has it.
    func issue(
        _ kind: CodeKind,
        to email: String,
        for user: UserID? = nil,
        language: String?,
        from client: ClientKey
    ) async throws(SkyrowError) -> CodeTicket {
        let code = OneTimeCode()
        let isWritten = try await mail(code, kind, to: email, for: user, language: language, from: client)
        if isWritten { mailSignals.continuation.yield() }
        return CodeTicket(
            handle: CodeHandle(code.id).description,
            expiresAt: clock.now().adding(.seconds(CodeKind.digitsLifetime))
        )
    }
}

// MARK: - Using codes

extension ActionService {
    /// Verifies an address. The first verification ends an anonymous session and earlier second factors,
    /// unless the request comes with a session of the account.
    ///
    /// Throws `134 InvalidToken` for a code that is not valid, for any reason, and `131 RateLimited`.
    fileprivate func confirmAddress(_ confirmation: CodeConfirmation, _ call: Call) async throws(SkyrowError) {
        let (proof, user) = try await prove(confirmation, .verify, call)
        let event = AuditEvent(.verify, by: .itself, from: call.origin)
        let session = call.credentials.accessToken.map { TokenHash(of: $0).bytes }
        // Also when it is unknown whether the change was committed.
        defer { forget(.user(user)) }
        guard try await store.codes.verify(proof, session: session, recording: event) != nil else {
            throw .codeNotAccepted
        }
    }

    /// Throws `134 InvalidToken` for a code that is not valid, for any reason, and `126 PasswordPolicyViolated`: before the code
    /// is checked if the text alone violates the policy, otherwise before the code is used. Throws `137 SecondFactorRequired` for
    /// an account with a second factor; the password is changed nevertheless. A factor from before the first verification of the
    /// address has ended with that.
    fileprivate func resetPassword(
        _ confirmation: ResetConfirmation,
        _ call: Call
    ) async throws(SkyrowError) -> AuthResult {
        let (proof, user, hash) = try await preparedReset(confirmation, call)
        // Also when it is unknown whether the change was committed.
        defer { passwordIsReset(user) }
        let opening = Opening(.reset, origin: call.origin)
        if try await store.users.credentials(of: user)?.asksForFactorAfterMail == true {
            // A mail replaces the password, but not the second factor.
            try await replacePassword(proof, by: hash, call)
            guard let changed = try await store.users.credentials(of: user) else { throw .codeNotAccepted }
            throw try await secondFactorRequired(of: changed, opening, refusal: .codeNotAccepted)
        }
        let result = try await openSession(for: user, opening) { session throws(SkyrowError) in
            let account = try await store.users.resetPassword(
                proof,
                to: hash,
                session: session,
                historySize: configuration.accounts.passwords.historySize
            )
            guard let account else { throw .codeNotAccepted }
            return account
        }
        await rememberReader(user, from: call.client)
        return result
    }

    /// Notes that a user who reads the mail of an address logs in from this client, so that strangers' requests cannot use up the
    /// user's mails.
    func rememberReader(_ user: UserID, from client: ClientKey) async {
        guard client != .none else { return }
        do throws(SkyrowError) {
            guard let address = try await store.codes.address(of: user),
                let source = GuessSource(address: address, from: client)
            else { return }
            try await store.throttle.remember(source, of: user)
        } catch {
            // The login succeeds without it.
            return
        }
    }

    /// The same for a page, which needs no session.
    package func resetPasswordOnPage(_ confirmation: ResetConfirmation, _ call: Call) async throws(SkyrowError) {
        try await observed(Actions.authResetConfirm.description) { () async throws(SkyrowError) in
            let (proof, user, hash) = try await preparedReset(confirmation, call)
            defer { passwordIsReset(user) }
            try await replacePassword(proof, by: hash, call)
        }
    }

    /// Sets the password of the account of a code, and opens no session.
    private func replacePassword(_ proof: CodeProof, by hash: String, _ call: Call) async throws(SkyrowError) {
        let account = try await store.users.resetPassword(
            proof,
            to: hash,
            session: nil,
            recording: AuditEvent(.reset, by: .itself, from: call.origin),
            historySize: configuration.accounts.passwords.historySize
        )
        guard account != nil else { throw .codeNotAccepted }
    }

    private func preparedReset(
        _ confirmation: ResetConfirmation,
        _ call: Call
    ) async throws(SkyrowError) -> (CodeProof, UserID, hash: String) {
        let password = try configuration.accounts.accepted(confirmation.password, argument: "password")
        // An invalid code costs no hash.
        let (proof, user) = try await prove(confirmation.code, .reset, call)
        return (proof, user, try await newPasswordHash(password, of: user, from: call.client))
    }

    private func passwordIsReset(_ user: UserID) {
        forget(.user(user))
        mailSignals.continuation.yield()
    }

    /// Throws `110 ResourceNotFound` for an unknown user, and `127 UserDisabled`.
    fileprivate func setPassword(_ new: NewPassword, _ call: Call) async throws(SkyrowError) -> AuthResult {
        // The endpoint has checked this already.
        guard call.caller.isMaster else { throw CredentialCheck.masterNeeded }
        let password = try configuration.accounts.accepted(new.password, argument: "password")
        let user = new.userID
        guard let credentials = try await store.users.credentials(of: user) else { throw SkyrowError.userNotFound }
        if let suspension = credentials.suspension, !suspension.isOver(at: clock.now()) { throw suspension.error }
        let hash = try await newPasswordHash(password, of: user, from: call.client)
        defer { passwordIsReset(user) }
        let notifies = configuration.mail != nil
        return try await openSession(for: user, Opening(.master, origin: call.origin)) { session throws(SkyrowError) in
            let account = try await store.users.setPassword(
                of: user,
                to: hash,
                session: session,
                recording: call.audit(.password),
                notifies: notifies,
                historySize: configuration.accounts.passwords.historySize
            )
            guard let account else { throw SkyrowError.userNotFound }
            return account
        }
    }

    /// Finds the user of a code without using it; digits count as a guess.
    func prove(
        _ confirmation: CodeConfirmation,
        _ kind: CodeKind,
        _ call: Call
    ) async throws(SkyrowError) -> (CodeProof, UserID) {
        var known: UserID?
        do throws(SkyrowError) {
            guard let text = confirmation.handle else {
                let hash = OneTimeCode.linkHash(confirmation.code)
                guard let user = try await store.codes.user(ofLink: hash, kind) else { throw .codeNotAccepted }
                return (.link(hash: hash), user)
            }
            guard let handle = CodeHandle(text) else { throw .codeNotAccepted }
            if kind == .link, OneTimeCode.digits(confirmation.code) == nil {
                let hash = OneTimeCode.linkHash(confirmation.code)
                guard let user = try await store.codes.user(ofLink: hash, kind) else { throw .codeNotAccepted }
                known = user
                return (.linkOfClient(id: handle.id, hash: hash), user)
            }
            guard let digits = OneTimeCode.digits(confirmation.code) else { throw .codeNotAccepted }
            let (attempt, isRight) = try await tried(digits, of: handle, kind, from: call.client)
            known = attempt?.user
            guard let attempt, isRight, let user = attempt.user else { throw .codeNotAccepted }
            return (.digits(id: handle.id, hash: attempt.digitsHash), user)
        } catch {
            // An invalid text cannot be attributed to an account.
            if known != nil || error.code == .rateLimited {
                await audit(kind.event, refusedWith: error, of: known, from: call.origin)
            }
            throw error
        }
    }

    /// Compares digits with those of a code after the guess was counted, by handle and client across all processes; the code's
    /// row counts it in addition.
    private func tried(
        _ digits: String,
        of handle: CodeHandle,
        _ kind: CodeKind,
        from client: ClientKey
    ) async throws(SkyrowError) -> (attempt: CodeAttempt?, isRight: Bool) {
        let source = GuessSource(accounts: [.init(code: handle)], client: client.bytes)
        let claim = try await claim(client == .none ? nil : source)
        do throws(SkyrowError) {
            let keys = try await store.codes.keys()
            let attempt = try await store.codes.attempt(handle.id, kind)
            let isRight = attempt.map { keys.matches(digits, of: handle.id, $0.digitsHash) } ?? false
            // The code is used up, so its client is not remembered.
            if isRight, let claim { try? await store.throttle.withdraw(claim) }
            return (attempt, isRight)
        } catch {
            if let claim { try? await store.throttle.withdraw(claim) }
            throw error
        }
    }
}

extension GuessSource.Account {
    /// - Parameter handle: the handle whose digits are tried.
    fileprivate init(code handle: CodeHandle) {
        self.init(key: "_code", value: Hexadecimal.text(handle.id))
    }
}

extension CodeKind {
    /// The audit event for the use of a code.
    fileprivate var event: AuditEvent.Kind {
        switch self {
        case .verify: .verify
        case .reset, .invite: .reset
        case .email: .address
        case .undo: .addressUndo
        case .link: .logIn
        }
    }
}

// MARK: - Signing up and logging in

extension ActionService {
    /// Returns the address that a sign-up has to verify; nil if addresses are not verified, and for an account without one.
    ///
    /// Throws `108 InvalidArgument` if verification is required and the address cannot receive mail.
    func addressToVerify(of data: SignUpData) throws(SkyrowError) -> String? {
        // An anonymous account has no address.
        guard configuration.mail != nil, configuration.verification != .off, data.password != nil else { return nil }
        var address: String?
        for field in data.fields where field.name.rawValue.isSameText(as: "email") {
            if case .string(let text) = field.value { address = text }
        }
        if configuration.verification == .required, address.flatMap({ MailAddress($0) }) == nil {
            throw .invalidArgument("Send a valid email address.", "email")
        }
        return address
    }

    /// Creates an account and mails a code to its address; if verification is required, no session is opened before it.
    ///
    /// Throws `128 VerificationRequired` in that case, although the account is created. The mail is a separate transaction: if it
    /// fails, the user requests another one.
    func signUp(
        _ account: NewAccount,
        with access: RecordAccess,
        verifying address: String,
        _ opening: Opening,
        from client: ClientKey
    ) async throws(SkyrowError) -> AuthResult {
        guard configuration.verification == .required else {
            let result = try await openSession(for: account.id, opening) { session throws(SkyrowError) in
                try await store.users.create(account, session: session, with: access)
            }
            await mailFirstCode(to: address, from: client)
            return result
        }
        let event = AuditEvent(.signUp, by: .itself, from: opening.origin)
        _ = try await store.users.create(account, session: nil, with: access, recording: event)
        await mailFirstCode(to: address, from: client)
        throw .verificationRequired
    }

    func mailFirstCode(to address: String, from client: ClientKey) async {
        do throws(SkyrowError) {
            _ = try await issue(.verify, to: address, language: nil, from: client)
        } catch {
            observe(.mailFailed(error.message))
        }
    }

    /// Throws `128 VerificationRequired` if verification is required and the account's address is not verified.
    func requireVerifiedAddress(of user: UserID) async throws(SkyrowError) {
        guard configuration.verification == .required else { return }
        guard try await store.codes.isVerified(user) else { throw .verificationRequired }
    }
}

extension SkyrowError {
    /// One error for a code that is wrong, used, expired or of another account.
    static let codeNotAccepted = SkyrowError(.invalidToken, "The code is not valid. Request a new one.")

    fileprivate static let verificationRequired = SkyrowError(
        .verificationRequired,
        "Verify the address of the account first, with the code or link mailed to it."
    )
}
