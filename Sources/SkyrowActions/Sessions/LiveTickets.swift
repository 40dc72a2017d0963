package import SkyrowModel
import SkyrowStore

extension ActionService {
    /// `live:ticket`: a token that opens one event stream in the name of the session, within a minute.
    ///
    /// Throws `101 NotAuthenticated` where the request has no session of its own, and `104 AccessTokenNotAccepted` when it has
    /// ended meanwhile.
    package func liveTicket(by caller: Caller, with credentials: Credentials) async throws(SkyrowError) -> LiveTicket {
        try await observed(.liveTicket) { () async throws(SkyrowError) in
            guard !caller.isMaster, let session = credentials.tokenHash else { throw CredentialCheck.userMissing }
            var generator = SystemRandomNumberGenerator()
            let token = "lt_" + RandomText.letters(43, using: &generator)
            let end = try await store.liveTickets.insert(TokenHash(of: token).bytes, session: session.bytes)
            guard let end else { throw CredentialCheck.tokenNotAccepted }
            return LiveTicket(token: token, expiresAt: end)
        }
    }

    /// Uses a ticket up, and returns the hash of the access token of its session.
    ///
    /// Throws `134 InvalidToken` for one that is unknown, used or too old.
    package func redeem(ticket: String) async throws(SkyrowError) -> [UInt8] {
        guard let session = try await store.liveTickets.use(TokenHash(of: ticket).bytes) else {
            throw SkyrowError(
                .invalidToken,
                "The ticket is unknown, was used, or is older than a minute; ask for another."
            )
        }
        return session
    }
}

extension Credentials {
    /// The hash of the access token; nil when there is none.
    var tokenHash: TokenHash? {
        if let accessToken, !accessToken.isEmpty { return TokenHash(of: accessToken) }
        return sessionHash.flatMap { TokenHash(bytes: $0) }
    }
}
