import NIOCore
import SkyrowActions
import SkyrowJSON
import SkyrowModel
import SkyrowProtocol

/// JSON-RPC 2.0 (https://www.jsonrpc.org/specification) with one caller, over any transport that carries messages.
///
/// ```swift
/// let session = JSONRPCSession(dispatcher: dispatcher, sender: sender)
/// let reply = await session.handle(message, context: context)
/// if let message = reply.message { send(message) }
/// ```
///
/// Messages are independent, so several may be handled at the same time.
struct JSONRPCSession: Sendable {
    /// The result of a message.
    struct Reply: Sendable {
        /// The response message; nil when the message had notifications only.
        var message: ByteBuffer?
        var subject: RequestSubject
        /// The first failure.
        var error: ErrorCode?
        /// The number of calls in a batch.
        var calls: Int?
        var userID: UserID?
        /// The number of calls that succeeded.
        var successes = 0
    }

    /// Upper bound on the calls of one batch.
    static let batchLimit = 100
    /// How many calls of one batch run concurrently.
    static let concurrency = 8

    private let dispatcher: ActionDispatcher
    private let sender: ActionDispatcher.Sender
    private let live: LiveSession?
    /// Finds the application of other credentials, which a call may set on a long-lived connection.
    private let finder: ApplicationFinder?

    /// - Parameters:
    ///   - live: The subscriptions of the connection; nil when it cannot have any.
    ///   - finder: Set when the connection may get other credentials by `connection:authenticate`.
    init(
        dispatcher: ActionDispatcher,
        sender: ActionDispatcher.Sender,
        live: LiveSession? = nil,
        finder: ApplicationFinder? = nil
    ) {
        self.finder = finder
        self.dispatcher = dispatcher
        self.sender = sender
        self.live = live
    }

    /// A decoded call; its response is made without the request's bytes.
    private enum Step: Sendable {
        case action(ActionDispatcher.PreparedCall)
        /// `connection:authenticate` with these credentials, which determine the application.
        case authentication(ActionDispatcher.Sender)
        case discover
        case failure(SkyrowError)

        var action: ActionName? {
            switch self {
            case .action(let call): call.action
            case .authentication: .connectionAuthenticate
            case .discover, .failure: nil
            }
        }

        var subject: RequestSubject {
            switch self {
            case .action(let call): .action(call.action)
            case .authentication: .action(.connectionAuthenticate)
            case .discover: .discover
            case .failure: .unknown
            }
        }
    }

    /// `id` is nil for a notification.
    private struct Call: Sendable {
        let step: Step
        let id: RPCID?
    }

    private enum Body: Sendable {
        case single(Call)
        case batch([Call])
    }

    /// The outcome of one call; the text is nil for a notification.
    private struct CallOutcome: Sendable {
        let text: ByteBuffer?
        let error: ErrorCode?
        let userID: UserID?
    }

    /// Performs the calls of a message, which is decoded before anything waits.
    ///
    /// - Parameter context: The context of this message: its id, and the account of its results.
    func handle(_ message: ByteBuffer, context: RequestContext) async -> Reply {
        switch read(message, from: sender) {
        case .single(let call):
            let outcome = await outcome(of: call, context: context)
            return Reply(
                message: outcome.text,
                subject: call.step.subject,
                error: outcome.error,
                userID: outcome.userID,
                successes: outcome.error == nil ? 1 : 0
            )
        case .batch(let calls):
            return await outcome(of: calls, context: context)
        }
    }

    // MARK: - Reading

    /// Whether a message has only calls of `live:subscribe` and `live:watch`.
    static func isSubscription(_ message: ByteBuffer) -> Bool {
        func isSubscription(_ entry: RPCEntry) -> Bool {
            guard case .call(let call) = entry else { return false }
            return [ActionName.liveSubscribe.rawValue, ActionName.liveWatch.rawValue].contains(call.method)
        }
        let judged = message.withUnsafeReadableBytes { bytes in
            try? JSONDocument.read(bytes) { root in
                guard !root.isArray || root.count <= batchLimit else { return false }
                switch RPCRequest(root) {
                case .single(let entry): return isSubscription(entry)
                case .batch(let entries): return !entries.isEmpty && entries.allSatisfy(isSubscription)
                }
            }
        }
        return judged ?? false
    }

    private func read(_ body: ByteBuffer, from sender: ActionDispatcher.Sender) -> Body {
        body.withUnsafeReadableBytes { bytes in
            do throws(JSONParseError) {
                return try JSONDocument.read(bytes) { read($0, from: sender) }
            } catch {
                return .single(Call(step: failure(SkyrowError(rpcParseError: error), from: sender), id: .null))
            }
        }
    }

    /// Creates a failure that precedes any action; it counts as a call.
    private func failure(_ error: SkyrowError, from sender: ActionDispatcher.Sender) -> Step {
        do throws(SkyrowError) {
            try dispatcher.admit(sender)
            return .failure(error)
        } catch {
            return .failure(error)
        }
    }

    private func read(_ root: JSONView, from sender: ActionDispatcher.Sender) -> Body {
        // Checked before the entries are decoded.
        guard !root.isArray || root.count <= JSONRPCSession.batchLimit else {
            let error = SkyrowError(.invalidRequest, "A batch has at most \(JSONRPCSession.batchLimit) calls.")
            return .single(Call(step: failure(error, from: sender), id: .null))
        }
        switch RPCRequest(root) {
        case .single(let entry): return .single(read(entry, from: sender))
        case .batch(let entries): return .batch(entries.map { read($0, from: sender) })
        }
    }

    private func read(_ entry: RPCEntry, from sender: ActionDispatcher.Sender) -> Call {
        switch entry {
        case .invalid(let error, let id):
            return Call(step: failure(error, from: sender), id: id)
        case .call(let call):
            return Call(step: read(call, from: sender), id: call.id)
        }
    }

    private func read(_ call: RPCCall, from sender: ActionDispatcher.Sender) -> Step {
        guard let action = ActionName(wireName: call.method) else {
            if call.method == "rpc.discover" { return discovery(from: sender) }
            return failure(
                SkyrowError(
                    .methodNotFound,
                    "The method does not exist\(ActionName.suggestion(for: call.method)); rpc.discover lists the methods."
                ),
                from: sender
            )
        }
        if let parameters = call.parameters {
            return read(action, parameters: parameters, from: sender)
        }
        do throws(JSONParseError) {
            return try JSONDocument.read(.emptyJSONObject) {
                read(action, parameters: $0, from: sender)
            }
        } catch {
            return .failure(SkyrowError(rpcParseError: error))
        }
    }

    private func discovery(from sender: ActionDispatcher.Sender) -> Step {
        do throws(SkyrowError) {
            try dispatcher.admit(sender)
            return .discover
        } catch {
            return .failure(error)
        }
    }

    private func read(_ action: ActionName, parameters: JSONView, from sender: ActionDispatcher.Sender) -> Step {
        var sender = sender
        if action == .connectionAuthenticate, finder != nil { return authentication(parameters, from: sender) }
        if parameters["_user_id"] != nil {
            do throws(SkyrowError) {
                sender.credentials.actingUserID = try Credentials(parameters: parameters).actingUserID
            } catch {
                return failure(error, from: sender)
            }
        }
        return .action(dispatcher.prepare(action, from: sender, parameters: parameters, rules: .rpc, in: .rpc))
    }

    private func authentication(_ parameters: JSONView, from sender: ActionDispatcher.Sender) -> Step {
        do throws(SkyrowError) {
            try KnownParameters.of(.connectionAuthenticate).check(parameters)
            let given = try Credentials(parameters: parameters)
            var sender = sender
            sender.credentials.key = given.key
            sender.credentials.accessToken = given.accessToken
            sender.credentials.actingUserID = given.actingUserID
            sender.credentials.isHeld = false
            return .authentication(sender)
        } catch {
            return failure(error, from: sender)
        }
    }

    // MARK: - Responding

    /// - Parameter isPart: Whether other calls share the response.
    private func outcome(of call: Call, context: RequestContext, isPart: Bool = false) async -> CallOutcome {
        let (outcome, user): (ActionDispatcher.Outcome, UserID?) =
            switch call.step {
            case .action(let prepared): await dispatcher.perform(prepared, live: live, context: context)
            case .authentication(let sender): await authenticate(sender, context: context)
            case .discover: (.succeeded(.json(OpenRPCDocument.text)), nil)
            case .failure(let error): (.failed(error), nil)
            }
        guard let callID = call.id else { return CallOutcome(text: nil, error: outcome.error?.code, userID: user) }
        let text = ResponseText(
            outcome,
            of: call.step.action,
            in: .rpc(callID),
            account: context.account,
            isPart: isPart
        )
        return CallOutcome(text: text.body, error: text.error?.code, userID: user)
    }

    private func authenticate(
        _ sender: ActionDispatcher.Sender,
        context: RequestContext
    ) async -> (ActionDispatcher.Outcome, UserID?) {
        guard let finder else { return (.failed(.undefinedRoute), nil) }
        let dispatcher = await finder.dispatcher(sender.credentials)
        do throws(JSONParseError) {
            let call = try JSONDocument.read(.emptyJSONObject) {
                dispatcher.prepare(.connectionAuthenticate, from: sender, parameters: $0, rules: .rpc, in: .rpc)
            }
            return await dispatcher.perform(call, live: live, context: context)
        } catch {
            return (.failed(SkyrowError(rpcParseError: error)), nil)
        }
    }

    private func outcome(of calls: [Call], context: RequestContext) async -> Reply {
        var texts = [ByteBuffer?](repeating: nil, count: calls.count)
        var firstError: ErrorCode?
        var successes = 0
        var user: UserID?
        await withTaskGroup(of: (Int, CallOutcome).self) { group in
            var next = 0
            func startNext() {
                guard next < calls.count else { return }
                let index = next
                next += 1
                group.addTask { (index, await outcome(of: calls[index], context: context, isPart: true)) }
            }
            for _ in 0..<JSONRPCSession.concurrency { startNext() }
            for await (index, outcome) in group {
                texts[index] = outcome.text
                if firstError == nil { firstError = outcome.error }
                if outcome.error == nil { successes += 1 }
                if user == nil { user = outcome.userID }
                startNext()
            }
        }
        let hasTexts = texts.contains { $0 != nil }
        return Reply(
            message: hasTexts ? JSONRPCSession.array(&texts) : nil,
            subject: .batch,
            error: firstError,
            calls: calls.count,
            userID: user,
            successes: successes
        )
    }

    /// Joins the texts, and frees each one as soon as it is copied.
    private static func array(_ texts: inout [ByteBuffer?]) -> ByteBuffer {
        var buffer = ByteBuffer()
        buffer.reserveCapacity(texts.reduce(2) { $0 + ($1?.readableBytes ?? 0) + 1 })
        buffer.writeStaticString("[")
        for index in texts.indices {
            guard let text = texts[index] else { continue }
            if buffer.readableBytes > 1 { buffer.writeStaticString(",") }
            buffer.writeImmutableBuffer(text)
            texts[index] = nil
        }
        buffer.writeStaticString("]")
        return buffer
    }
}

extension ActionName {
    private static let byName = Dictionary(uniqueKeysWithValues: allCases.map { ($0.rawValue, $0) })

    /// The action of that name.
    init?(wireName: String) {
        guard let name = ActionName.byName[wireName] else { return nil }
        self = name
    }
}

extension UnsafeRawBufferPointer {
    /// The text `{}`, for a call without parameters.
    static var emptyJSONObject: UnsafeRawBufferPointer {
        let text: StaticString = "{}"
        return UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
    }
}
