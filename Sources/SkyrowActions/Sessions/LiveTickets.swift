package import SkyrowModel
import SkyrowStore

/// Whose a stream is that a ticket opens or resumes.
package struct RedeemedTicket: Sendable {
    /// The hash of the access token of its session; nil where it has none.
    package let session: [UInt8]?
    /// The API key for which the ticket stands; nil where it stands for a session.
    package let key: String?
    /// What the ids of the stream's events end with, and it is resumed by.
    package let mark: String
}

extension ActionService {
    /// `live:ticket`: a token that opens one event stream in the name of the session, or of the API key where there is no
    /// session, within a minute.
    ///
    /// Throws `101 NotAuthenticated` for the master key, and `104 AccessTokenNotAccepted` when the session has ended meanwhile.
    package func liveTicket(by caller: Caller, with credentials: Credentials) async throws(SkyrowError) -> LiveTicket {
        try await observed(.liveTicket) { () async throws(SkyrowError) in
            guard !caller.isMaster else { throw CredentialCheck.userMissing }
            var generator = SystemRandomNumberGenerator()
            if caller.userID != nil, let session = credentials.tokenHash {
                let token = "lt_" + RandomText.letters(43, using: &generator)
                let end = try await store.liveTickets.insert(TokenHash(of: token).bytes, session: session.bytes)
                guard let end else { throw CredentialCheck.tokenNotAccepted }
                return LiveTicket(token: token, expiresAt: end)
            }
            let key = LiveTicketKey(try await store.liveTicketKey())
            let end = clock.now().adding(.seconds(LiveTicket.lifetime))
            guard let apiKey = credentials.key, !apiKey.isEmpty,
                let token = key.ticket(of: apiKey, until: end, using: &generator)
            else { throw CredentialCheck.userMissing }
            return LiveTicket(token: token, expiresAt: end)
        }
    }

    /// Says whose the stream is that a ticket opens, which uses the ticket of a session up, or that it resumes.
    ///
    /// Throws `134 InvalidToken` for one that is unknown, used or too old, and where the session has ended.
    ///
    /// - Parameters:
    ///   - mark: that of the last event that the client has seen; nil without one.
    ///   - query: what the stream is of. A stream of another query is not resumed.
    package func redeem(
        ticket: String,
        resuming mark: String? = nil,
        of query: String = ""
    ) async throws(SkyrowError) -> RedeemedTicket {
        let key = LiveTicketKey(try await store.liveTicketKey())
        let resumed = mark.flatMap { key.session(ofMark: $0, ticket, query: query) }
        if let (apiKey, end) = key.apiKey(of: ticket) {
            guard resumed != nil || clock.now() < end else { throw .ticketDoesNotCount }
            return RedeemedTicket(session: nil, key: apiKey, mark: key.mark(ticket, session: "", query: query))
        }
        let session =
            if let resumed { try await store.liveTickets.session(id: resumed) } else {
                try await store.liveTickets.use(TokenHash(of: ticket).bytes)
            }
        guard let session else { throw .ticketDoesNotCount }
        return RedeemedTicket(
            session: session.tokenHash,
            key: nil,
            mark: key.mark(ticket, session: session.id, query: query)
        )
    }
}

extension SkyrowError {
    fileprivate static let ticketDoesNotCount = SkyrowError(
        .invalidToken,
        "The ticket is unknown, was used, or is older than a minute, or its session has ended; ask for another."
    )
}

extension Credentials {
    /// The hash of the access token; nil when there is none.
    var tokenHash: TokenHash? {
        if let accessToken, !accessToken.isEmpty { return TokenHash(of: accessToken) }
        return sessionHash.flatMap { TokenHash(bytes: $0) }
    }
}
