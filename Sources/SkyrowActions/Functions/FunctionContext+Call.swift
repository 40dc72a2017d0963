import SkyrowModel
import SkyrowProtocol
import SkyrowStore

extension ActionService {
    /// Upper bound on the functions that call each other.
    static let maximumFunctionDepth = 5
    /// How long a call token is valid whose call has no bound on its time.
    private static let tokenTime: Duration = .seconds(60)

    /// Returns what a function server learns about the caller of a call, with a token for calls in the caller's name.
    ///
    /// - Parameter timeout: The time of the call of the function, besides that of the request.
    func functionContext(of call: Call, timeout: Duration? = nil) -> FunctionContext {
        var context = FunctionContext(
            userID: call.caller.userID,
            keyKind: call.caller.isMaster ? .master : (call.credentials.key ?? "").isEmpty ? nil : .client,
            requestID: call.origin.requestID,
            roles: call.caller.roles,
            depth: call.functionDepth + 1,
            clientAddress: call.origin.address
        )
        guard let user = call.caller.userID, let key = functions.tokenKey else { return context }
        let left = call.deadline.map { $0 - clock.instant() }
        let time = [left, timeout].compactMap(\.self).min() ?? Self.tokenTime
        context.token = key.text(of: CallToken(user: user, depth: context.depth, end: clock.now().adding(time)))
        return context
    }

    /// Throws `108 InvalidArgument` for a call at the maximum depth, which calls no further function.
    func requireDepth(_ call: Call) throws(SkyrowError) {
        guard call.functionDepth < Self.maximumFunctionDepth else { throw .callsTooDeeply }
    }

    /// Returns what the call token of a request says; nil for a request without a valid one.
    func callToken(of credentials: Credentials) -> CallToken? {
        guard let text = credentials.accessToken, CallToken.isLikely(text) else { return nil }
        return functions.tokenKey?.token(text)
    }

    /// Returns the cached session in whose place a call token is; nil when the database must be queried.
    func cachedSession(for token: CallToken) -> StoredSession? {
        guard let key = functions.tokenKey, var session = cachedSession(key.standingHash(of: token.user)) else {
            return nil
        }
        session.expiresAt = token.end
        return session
    }

    /// Does the same, and queries the database if necessary; nil if the account does not exist.
    func session(for token: CallToken) async throws(SkyrowError) -> StoredSession? {
        if let session = cachedSession(for: token) { return session }
        guard let key = functions.tokenKey else { return nil }
        let moment = momentOfLoading
        guard var session = try await store.sessions.standing(of: token.user) else { return nil }
        remember(session, for: key.standingHash(of: token.user), loadedAt: moment)
        session.expiresAt = token.end
        return session
    }
}

extension SkyrowError {
    static let callsTooDeeply = SkyrowError(
        .invalidArgument,
        "The function calls itself too deeply: at most \(ActionService.maximumFunctionDepth) functions may call each other."
    )
}
