import SkyrowModel
import SkyrowProtocol
import SkyrowStore

extension ActionService {
    /// Throws `111 NotSupported` if login by mail is off.
    func requestLogInLink(_ request: CodeRequest, _ call: Call) async throws(SkyrowError) -> CodeTicket {
        try requireLinkLogIn()
        return try await issue(.link, to: request.email, language: request.language, from: call.client)
    }

    /// Logs in with the code of a mail, on the client that has its handle, and verifies the address.
    ///
    /// Throws `134 InvalidToken` for a code that is not valid, for any reason, `137 SecondFactorRequired` for an account with a
    /// second factor, and `131 RateLimited`.
    func logIn(byMail logIn: LinkLogIn, _ call: Call) async throws(SkyrowError) -> AuthResult {
        try await loggingIn(by: .link) { () async throws(SkyrowError) in
            try requireLinkLogIn()
            let confirmation = CodeConfirmation(code: logIn.code, handle: logIn.handle)
            let (proof, user) = try await prove(confirmation, .link, call)
            // The first verification of an address ends earlier sessions; also when it is unknown whether it was committed.
            defer { forget(.user(user)) }
            let opening = Opening(.link, device: logIn.device, origin: call.origin)
            do throws(SkyrowError) {
                guard try await store.users.credentials(of: user)?.asksForFactorAfterMail == true else {
                    let result = try await openSession(for: user, opening) { session throws(SkyrowError) in
                        guard let account = try await store.users.logIn(proof, session: session) else {
                            throw .codeNotAccepted
                        }
                        return account
                    }
                    await rememberReader(user, from: call.client)
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
                    await audit(.logIn, refusedWith: error, of: user, from: call.origin)
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
