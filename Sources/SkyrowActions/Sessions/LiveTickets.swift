package import SkyrowModel
import SkyrowStore

/// The caller of a stream that a ticket opens or resumes.
package struct RedeemedTicket: Sendable {
    /// The hash of the access token of its session; nil without a session.
    package let session: [UInt8]?
    /// The API key that the ticket stands for; nil if it stands for a session.
    package let key: String?
    /// The end of the ids of the stream's events, with which it is resumed.
    package let mark: String
}

extension ActionService {
    /// The token stands for the session, or for the API key without a session.
    ///
    /// Throws `101 NotAuthenticated` for the master key, and `104 AccessTokenNotAccepted` if the session has ended meanwhile.
    func liveTicket(_: Void, _ call: Call) async throws(SkyrowError) -> LiveTicket {
        guard !call.caller.isMaster else { throw CredentialCheck.userMissing }
        var generator = SystemRandomNumberGenerator()
        if call.caller.userID != nil, let session = call.credentials.tokenHash {
            let token = "lt_" + RandomText.letters(43, using: &generator)
            let end = try await store.liveTickets.insert(TokenHash(of: token).bytes, session: session.bytes)
            guard let end else { throw CredentialCheck.tokenNotAccepted }
            return LiveTicket(token: token, expiresAt: end)
        }
        let key = LiveTicketKey(try await store.liveTicketKey())
        let end = clock.now().adding(.seconds(LiveTicket.lifetime))
        guard let apiKey = call.credentials.key, !apiKey.isEmpty,
            let token = key.ticket(of: apiKey, until: end, using: &generator)
        else { throw CredentialCheck.userMissing }
        return LiveTicket(token: token, expiresAt: end)
    }

    /// Redeems a ticket to open a stream, which uses up the ticket of a session, or to resume one.
    ///
    /// Throws `134 InvalidToken` for a ticket that is unknown, used or too old, and if the session has ended.
    ///
    /// - Parameters:
    ///   - mark: the mark of the last event that the client has seen; nil without one.
    ///   - query: the query of the stream. A stream of another query is not resumed.
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
        "The ticket is unknown, used or older than a minute, or its session has ended; request another one."
    )
}

extension Credentials {
    /// The hash of the access token; nil without one.
    var tokenHash: TokenHash? {
        if let accessToken, !accessToken.isEmpty { return TokenHash(of: accessToken) }
        return sessionHash.flatMap { TokenHash(bytes: $0) }
    }
}
