import SkyrowModel
import SkyrowProtocol
import SkyrowRemote
import SkyrowStore

extension ActionService {
    /// The work and the response are the same for an address of another account, whose user is informed by mail. Throws `138
    /// StepUpRequired` without a password if the user has not authenticated again within the last minutes, `105
    /// InvalidCredentials` for a wrong password, `108 InvalidArgument` for an invalid address, and `111 NotSupported` if the
    /// service sends no mail.
    func requestAddressChange(_ change: EmailChange, _ call: Call) async throws(SkyrowError) -> CodeTicket {
        let user = try call.caller.requiredUserID
        guard configuration.mail != nil else { throw SkyrowError(.notSupported, "This service does not send mail.") }
        guard let key = store.loginKeys.first(where: { $0.rawValue.isSameText(as: "email") }) else {
            throw SkyrowError(.notSupported, "Accounts of this service do not log in with an address.")
        }
        try await requireProof(of: user, change.password, call)
        guard MailAddress(change.email) != nil else { throw .invalidArgument("Send a valid email address.", "email") }
        try configuration.accounts.check(.string(change.email), of: key)
        return try await issue(.email, to: change.email, for: user, language: change.language, from: call.client)
    }

    private func requireProof(of user: UserID, _ password: String?, _ call: Call) async throws(SkyrowError) {
        guard let password else {
            if let refusal = try await stepUpRefusal(of: call.caller, with: call.credentials) { throw refusal }
            return
        }
        let actor = call.actor
        try await auditing(.address, of: user, by: actor, from: call.origin) { () async throws(SkyrowError) in
            _ = try await account(of: user, provedBy: password, from: call.client)
        }
    }

    /// Sets the address to which the digits were sent as that of the account, and ends its other sessions.
    ///
    /// The former address gets a mail with a link to undo the change. Throws `134 InvalidToken` for digits that are not valid,
    /// for any reason, `109 Duplicated` if another account has got the address meanwhile, and `131 RateLimited`.
    func confirmAddressChange(_ confirmation: EmailConfirmation, _ call: Call) async throws(SkyrowError) {
        let user = try call.caller.requiredUserID
        let digits = CodeConfirmation(code: confirmation.code, handle: confirmation.handle)
        let (proof, owner) = try await prove(digits, .email, call)
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
            keeping: call.sessionHash,
            undo: undo,
            trustsUnproved: configuration.verification == .off,
            recording: call.audit(.address)
        )
        guard isChanged else { throw .codeNotAccepted }
        mailSignals.continuation.yield()
    }

    /// Restores the address that an account had before a change, and ends later sessions.
    ///
    /// A mail with a code for a new password follows, since the current one may be someone else's. Throws `134 InvalidToken` for
    /// a code that is not valid, for any reason, and `109 Duplicated` if another account has the address.
    func undoAddressChange(_ code: String, _ call: Call) async throws(SkyrowError) {
        let undone = try await store.users.undoChangeOfAddress(
            OneTimeCode.linkHash(code),
            recording: AuditEvent(.addressUndo, by: .itself, from: call.origin)
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

    /// Whether an account gets an address only after it is verified, so that a save cannot change it.
    var provesAddresses: Bool { configuration.mail != nil && configuration.verification != .off }
}
