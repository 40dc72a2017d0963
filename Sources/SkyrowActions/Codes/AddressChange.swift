package import SkyrowModel
import SkyrowRemote
import SkyrowStore

extension ActionService {
    /// `auth:email:change`: mails digits to a new address of the account.
    ///
    /// The work and the response are the same for an address of another account, whose user is informed by mail. Throws `138
    /// StepUpRequired` without a password if the user has not authenticated again within the last minutes, `105
    /// InvalidCredentials` for a wrong password, `108 InvalidArgument` for an invalid address, and `111 NotSupported` if the
    /// service sends no mail.
    package func requestAddressChange(
        _ request: EmailChangeRequest,
        by caller: Caller,
        with own: Credentials = Credentials(),
        from client: ClientKey = .none,
        origin: RequestOrigin = RequestOrigin()
    ) async throws(SkyrowError) -> CodeTicket {
        try await observed(.authEmailChange) { () async throws(SkyrowError) in
            let user = try caller.requiredUserID
            guard configuration.mail != nil else {
                throw SkyrowError(.notSupported, "This service does not send mail.")
            }
            guard let key = store.loginKeys.first(where: { $0.rawValue.isSameText(as: "email") }) else {
                throw SkyrowError(.notSupported, "Accounts of this service do not log in with an address.")
            }
            try await requireProof(of: user, request.password, by: caller, with: own, from: client, origin: origin)
            guard MailAddress(request.email) != nil else {
                throw .invalidArgument("Send a valid email address.", "email")
            }
            try configuration.accounts.check(.string(request.email), of: key)
            return try await issue(.email, to: request.email, for: user, language: request.language, from: client)
        }
    }

    private func requireProof(
        of user: UserID,
        _ password: String?,
        by caller: Caller,
        with own: Credentials,
        from client: ClientKey,
        origin: RequestOrigin
    ) async throws(SkyrowError) {
        guard let password else {
            if let refusal = try await stepUpRefusal(of: caller, with: own) { throw refusal }
            return
        }
        do throws(SkyrowError) {
            _ = try await account(of: user, provedBy: password, from: client)
        } catch {
            await audit(.address, refusedWith: error, of: user, by: AuditEvent.Actor(caller), from: origin)
            throw error
        }
    }

    /// `auth:email:confirm`: sets the address to which the digits were sent as that of the account, and ends its other sessions.
    ///
    /// The former address gets a mail with a link to undo the change. Throws `134 InvalidToken` for digits that are not valid,
    /// for any reason, `109 Duplicated` if another account has got the address meanwhile, and `131 RateLimited`.
    package func confirmAddressChange(
        _ confirmation: CodeConfirmation,
        by caller: Caller,
        with own: Credentials = Credentials(),
        from client: ClientKey = .none,
        origin: RequestOrigin = RequestOrigin()
    ) async throws(SkyrowError) {
        try await observed(.authEmailConfirm) { () async throws(SkyrowError) in
            let user = try caller.requiredUserID
            let (proof, owner) = try await prove(confirmation, .email, from: client, origin: origin)
            guard owner == user else { throw .codeNotAccepted }
            let undo = NewCode(
                OneTimeCode(),
                .undo,
                to: "",
                under: try await store.codes.keys(),
                language: nil,
                from: .none
            )
            // Also when it is unknown whether the change was committed.
            defer { forget(.user(user)) }
            let isChanged = try await store.users.changeAddress(
                of: user,
                proof,
                keeping: own.ownToken(of: caller).map { TokenHash(of: $0).bytes },
                undo: undo,
                trustsUnproved: configuration.verification == .off,
                recording: AuditEvent(.address, by: AuditEvent.Actor(caller), from: origin)
            )
            guard isChanged else { throw .codeNotAccepted }
            mailSignals.continuation.yield()
        }
    }

    /// `auth:email:undo`: restores the address that an account had before a change, and ends later sessions.
    ///
    /// A mail with a code for a new password follows, since the current one may be someone else's. Throws `134 InvalidToken` for
    /// a code that is not valid, for any reason, and `109 Duplicated` if another account has the address.
    package func undoAddressChange(
        _ code: String,
        from client: ClientKey = .none,
        origin: RequestOrigin = RequestOrigin()
    ) async throws(SkyrowError) {
        try await observed(.authEmailUndo) { () async throws(SkyrowError) in
            let undone = try await store.users.undoChangeOfAddress(
                OneTimeCode.linkHash(code),
                recording: AuditEvent(.addressUndo, by: .itself, from: origin)
            )
            guard let undone else { throw .codeNotAccepted }
            forget(.user(undone.user))
            guard configuration.mail != nil else { return }
            do throws(SkyrowError) {
                _ = try await issue(.reset, to: undone.address, language: nil, from: .none)
            } catch {
                // The user requests another one.
                observe(.mailFailed(error.message))
            }
        }
    }

    /// Whether an account gets an address only after it is verified, so that a save cannot change it.
    var provesAddresses: Bool { configuration.mail != nil && configuration.verification != .off }
}
