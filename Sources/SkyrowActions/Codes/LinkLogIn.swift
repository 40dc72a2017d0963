package import SkyrowModel
import SkyrowStore

extension ActionService {
    /// `auth:link:request`: mails a code that logs in.
    ///
    /// Throws `111 NotSupported` if login by mail is off.
    package func requestLogInLink(
        _ request: CodeRequest,
        from client: ClientKey = .none
    ) async throws(SkyrowError) -> CodeTicket {
        try await observed(.authLinkRequest) { () async throws(SkyrowError) in
            try requireLinkLogIn()
            guard let email = request.email else { throw .invalidArgument("\"email\" is missing.", "email") }
            return try await issue(.link, to: email, language: request.language, from: client)
        }
    }

    /// `auth:link:login`: logs in with the code of a mail, on the client that has its handle, and verifies the address.
    ///
    /// Throws `134 InvalidToken` for a code that is not valid, for any reason, `137 SecondFactorRequired` for an account with a
    /// second factor, and `131 RateLimited`.
    package func logIn(
        _ request: LinkLogInRequest,
        from client: ClientKey = .none,
        origin: RequestOrigin = RequestOrigin()
    ) async throws(SkyrowError) -> AuthResult {
        try await observed(.authLinkLogIn, as: .link) { () async throws(SkyrowError) in
            try requireLinkLogIn()
            let confirmation = CodeConfirmation(code: request.code, handle: request.handle)
            let (proof, user) = try await prove(confirmation, .link, from: client, origin: origin)
            // The first verification of an address ends earlier sessions; also when it is unknown whether it was committed.
            defer { forget(.user(user)) }
            let opening = Opening(.link, device: request.device, origin: origin)
            do throws(SkyrowError) {
                guard try await store.users.credentials(of: user)?.asksForFactorAfterMail == true else {
                    let result = try await openSession(for: user, opening) { session throws(SkyrowError) in
                        guard let account = try await store.users.logIn(proof, session: session) else {
                            throw .codeNotAccepted
                        }
                        return account
                    }
                    await rememberReader(user, from: client)
                    return result
                }
                // The code is the first factor, like a password, and is used up.
                guard try await store.users.logIn(proof, session: nil) != nil,
                    let changed = try await store.users.credentials(of: user)
                else { throw .codeNotAccepted }
                throw try await secondFactorRequired(of: changed, opening, refusal: .codeNotAccepted)
            } catch {
                // `secondFactorRequired` audits a login that waits for its second factor.
                if error.code != .secondFactorRequired {
                    await audit(.logIn, refusedWith: error, of: user, from: origin)
                }
                throw error
            }
        }
    }

    private func requireLinkLogIn() throws(SkyrowError) {
        guard configuration.mail != nil, configuration.admitsLinkLogIn else {
            throw SkyrowError(.notSupported, "This service does not support login by mail.")
        }
    }
}
