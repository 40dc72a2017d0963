public import Foundation
import SkyrowJSON
@_exported public import SkyrowModel
@_exported public import SkyrowProtocol

/// A client of a Skyrow service: the current session, and a method for every action.
///
/// ```swift
/// let client = SkyrowClient(endpoint: URL(string: "http://127.0.0.1:3000")!, apiKey: "…")
/// try await client.signUp(["username": "ann"], password: "correct horse")
/// let note = try await client.publicDatabase.save(RecordDraft("note/1", ["title": "Milk", "stars": 3]))
/// let notes = try await client.publicDatabase.query(RecordQuery("note").filter(Field("stars") > 2))
/// ```
///
/// Calls throw `ClientError`. A client can be shared by any number of tasks.
public final class SkyrowClient: Sendable {
    /// The address of the service; requests go to `rpc` below it.
    public let endpoint: URL
    let retryPolicy: RetryPolicy
    /// The event stream that all live queries share.
    let live: LiveStream
    private let apiKey: String
    let transport: any Transport
    private let sessions: any SessionStorage
    let pause: @Sendable (Duration) async throws -> Void

    /// Creates a client; it sends no request yet.
    ///
    /// - Parameters:
    ///   - endpoint: the address of the service, such as `http://127.0.0.1:3000`.
    ///   - apiKey: the service's API key, or its master key in an administrator's tool.
    ///   - transport: sends the requests.
    ///   - sessions: stores the session; the client resumes the session that it finds there.
    ///   - retryPolicy: how often calls are retried, and after which delays.
    public convenience init(
        endpoint: URL,
        apiKey: String,
        transport: any Transport = URLSessionTransport(),
        sessions: any SessionStorage = MemorySessionStorage(),
        retryPolicy: RetryPolicy = RetryPolicy()
    ) {
        self.init(
            endpoint: endpoint,
            apiKey: apiKey,
            transport: transport,
            sessions: sessions,
            retryPolicy: retryPolicy,
            pause: { try await Task.sleep(for: $0) }
        )
    }

    init(
        endpoint: URL,
        apiKey: String,
        transport: any Transport,
        sessions: any SessionStorage,
        retryPolicy: RetryPolicy,
        live: LiveStream = LiveStream(),
        pause: @escaping @Sendable (Duration) async throws -> Void
    ) {
        self.endpoint = endpoint
        self.apiKey = apiKey
        self.transport = transport
        self.sessions = sessions
        self.retryPolicy = retryPolicy
        self.live = live
        self.pause = pause
    }

    /// The current session; nil when no user is logged in.
    public var session: Session? { sessions.load() }

    /// The id of the logged-in user.
    public var currentUserID: UserID? { session?.userID }

    /// The database that all users share.
    public var publicDatabase: RecordDatabase { database(.everyone) }

    /// The private database of the logged-in user.
    public var privateDatabase: RecordDatabase { database(.own) }

    /// Returns a database by its name; the private databases of other users require the master key.
    public func database(_ name: DatabaseName) -> RecordDatabase {
        RecordDatabase(client: self, name: name)
    }

    func store(_ session: Session?) {
        let before = sessions.load()
        sessions.store(session)
        if before?.userID != session?.userID { live.callerChanged() }
    }

    /// Removes a session that has ended from the storage, so that later calls do not use it.
    func forget(_ session: Session?) {
        if session != nil, sessions.load() == session { sessions.store(nil) }
    }
}

// MARK: Calls

extension SkyrowClient {
    /// Calls an action with its parameters, and returns its result.
    ///
    /// ```swift
    /// let added = try await client.call(Actions.roleAdd, RoleChange(role: "Moderators", users: ["ann"]))
    /// ```
    public func call<Parameters, Result>(
        _ action: Action<Parameters, Result>,
        _ parameters: Parameters
    ) async throws(ClientError) -> Result {
        try await call(action.description, parameters: action.writer(of: parameters)) { json throws(SkyrowError) in
            try action.result.read(json, "result")
        }
    }

    /// Calls a write that has an idempotency key or changes nothing, so that it can be repeated.
    func write<Parameters, Value>(
        _ action: Action<Parameters, WriteResult<Value>>,
        _ parameters: Parameters
    ) async throws(ClientError) -> Value {
        let parameters = action.writer(of: parameters)
        let result = try await call(action.description, repeatability: .safe, parameters: parameters) {
            json throws(SkyrowError) in
            try action.result.read(json, "result")
        }
        guard case .fresh(let value) = result else { throw .otherResult }
        return value
    }

    /// Calls an action, retries it where that is safe and useful, and reads its result.
    ///
    /// - Parameters:
    ///   - repeatability: whether the call may be repeated; nil: safe unless a second call may have a second effect.
    ///   - parameters: writes the named parameters as an object.
    func call<Result>(
        _ action: ActionDescription,
        repeatability: Repeatability? = nil,
        parameters: ((JSONWriter) -> Void)? = nil,
        read: (JSONView) throws(SkyrowError) -> Result
    ) async throws(ClientError) -> Result {
        let body = RPCBody.call(action, parameters: parameters)
        return try await attempt(
            repeatability ?? (action.effect == .once ? .unsafe : .safe),
            // An action that requires a key ignores the session's token.
            needsSession: action.requirement != .key
        ) { session throws(ClientError) in
            let response = try await send(body, session: session)
            keepRenewedToken(of: response.headers, for: session)
            return try RPCBody.result(of: response, read: read)
        }
    }

    /// Makes a request with the current session, and repeats it where that is safe and useful.
    ///
    /// - Parameter needsSession: whether the session has ended when the service does not accept its token.
    func attempt<Result>(
        _ repeatability: Repeatability,
        needsSession: Bool,
        _ request: (Session?) async throws(ClientError) -> Result
    ) async throws(ClientError) -> Result {
        var number = 1
        while true {
            let session = sessions.load()
            let failure: ClientError
            do throws(ClientError) {
                return try await request(session)
            } catch {
                failure = error
            }
            if failure.serverCode == .accessTokenNotAccepted, needsSession { forget(session) }
            guard
                let delay = retryPolicy.delay(
                    afterAttempt: number,
                    failure: failure,
                    repeatability: repeatability,
                    share: .random(in: 0...1)
                )
            else { throw failure }
            do {
                try await pause(delay)
            } catch {
                throw ClientError(.cancelled, "The call was cancelled.", underlying: error)
            }
            number += 1
        }
    }

    /// Stores the renewed token of a response in place of the session's token.
    func keepRenewedToken(of headers: [(name: String, value: String)], for session: Session?) {
        let name = "x-skyrow-access-token"
        guard let session, let token = headers.first(where: { $0.name.lowercased() == name })?.value, !token.isEmpty,
            sessions.load() == session
        else { return }
        sessions.store(Session(userID: session.userID, accessToken: token))
    }

    private func send(_ body: [UInt8], session: Session?) async throws(ClientError) -> TransportResponse {
        do {
            return try await transport.send(request(body, accepting: "application/json", session))
        } catch {
            throw noResponse(error)
        }
    }

    /// Opens an event stream with a batch of calls.
    func openStream(_ body: [UInt8], session: Session?) async throws(ClientError) -> TransportStream {
        do {
            let stream = try await transport.stream(request(body, accepting: "text/event-stream", session))
            keepRenewedToken(of: stream.headers, for: session)
            return stream
        } catch let error as ClientError {
            throw error
        } catch {
            throw noResponse(error)
        }
    }

    private func request(_ body: [UInt8], accepting type: String, _ session: Session?) -> TransportRequest {
        let headers = [(name: "Content-Type", value: "application/json"), (name: "Accept", value: type)]
        return TransportRequest(
            url: endpoint.appendingPathComponent("rpc"),
            headers: headers + credentials(of: session),
            body: body
        )
    }

    /// The header fields that identify the application and the user.
    func credentials(of session: Session?) -> [(name: String, value: String)] {
        let key = (name: "X-Skygear-API-Key", value: apiKey)
        guard let session else { return [key] }
        return [key, (name: "Authorization", value: "Bearer \(session.accessToken)")]
    }

    func noResponse(_ error: any Error) -> ClientError {
        if Task.isCancelled { return ClientError(.cancelled, "The call was cancelled.", underlying: error) }
        return ClientError(.noResponse, "The service at \(endpoint.absoluteString) did not respond.", underlying: error)
    }
}

extension Action {
    /// Writes the parameters of a call; nil for an action without any.
    func writer(of parameters: Parameters) -> ((JSONWriter) -> Void)? {
        guard !self.parameters.members.isEmpty else { return nil }
        return { self.parameters.write(parameters, $0) }
    }
}
