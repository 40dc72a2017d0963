import NIOCore
import SkyrowActions
import SkyrowJSON
import SkyrowModel
import SkyrowProtocol

/// JSON-RPC 2.0 (https://www.jsonrpc.org/specification) with one caller, over any transport that carries messages.
///
/// ```swift
/// let session = JSONRPCSession(runner: runner, sender: sender)
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

    private let runner: ActionRunner
    private let sender: Sender
    private let live: LiveSession?
    /// Finds the application of other credentials, which a call may set on a long-lived connection.
    private let finder: ApplicationFinder?

    /// - Parameters:
    ///   - live: The subscriptions of the connection; nil when it cannot have any.
    ///   - finder: Set when the connection may get other credentials by `connection:authenticate`.
    init(runner: ActionRunner, sender: Sender, live: LiveSession? = nil, finder: ApplicationFinder? = nil) {
        self.finder = finder
        self.runner = runner
        self.sender = sender
        self.live = live
    }

    /// A decoded call; its response is made without the request's bytes.
    private enum Step: Sendable {
        case action(PreparedCall)
        /// `connection:authenticate` with these credentials, which determine the application.
        case authentication(any AnyEntry, Sender)
        case discover
        case failure(SkyrowError)

        var action: ActionDescription? {
            switch self {
            case .action(let call): call.description
            case .authentication: Actions.connectionAuthenticate.description
            case .discover, .failure: nil
            }
        }

        var subject: RequestSubject {
            switch self {
            case .action(let call): .action(call.name)
            case .authentication: .action(Actions.connectionAuthenticate.name)
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

    /// The response of one call; the text is nil for a notification.
    private struct Response: Sendable {
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
            return [Actions.liveSubscribe.name, Actions.liveWatch.name].contains(ActionName(call.method))
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

    private func read(_ body: ByteBuffer, from sender: Sender) -> Body {
        body.withUnsafeReadableBytes { bytes in
            do throws(JSONParseError) {
                return try JSONDocument.read(bytes) { read($0, from: sender) }
            } catch {
                return .single(Call(step: failure(SkyrowError(rpcParseError: error), from: sender), id: .null))
            }
        }
    }

    /// Creates a failure that precedes any action; it counts as a call.
    private func failure(_ error: SkyrowError, from sender: Sender) -> Step {
        do throws(SkyrowError) {
            try runner.admit(sender)
            return .failure(error)
        } catch {
            return .failure(error)
        }
    }

    private func read(_ root: JSONView, from sender: Sender) -> Body {
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

    private func read(_ entry: RPCEntry, from sender: Sender) -> Call {
        switch entry {
        case .invalid(let error, let id): return Call(step: failure(error, from: sender), id: id)
        case .call(let call): return Call(step: read(call, from: sender), id: call.id)
        }
    }

    private func read(_ call: RPCCall, from sender: Sender) -> Step {
        guard let action = ActionTable[ActionName(call.method)] else {
            if call.method == "rpc.discover" { return discovery(from: sender) }
            if let function = runner.function(call.method) { return read(function, of: call, from: sender, in: nil) }
            return failure(
                SkyrowError(
                    .methodNotFound,
                    "The method does not exist\(runner.suggestion(for: call.method)); rpc.discover lists the methods."
                ),
                from: sender
            )
        }
        return read(action, of: call, from: sender, in: .rpc)
    }

    /// - Parameter envelope: Which parameters are allowed besides those of the action; nil for a function, which reads all.
    private func read(
        _ action: any AnyEntry,
        of call: RPCCall,
        from sender: Sender,
        in envelope: KnownParameters.Envelope?
    ) -> Step {
        if let parameters = call.parameters {
            return read(action, parameters: parameters, from: sender, in: envelope)
        }
        do throws(JSONParseError) {
            return try JSONDocument.read(.emptyJSONObject) {
                read(action, parameters: $0, from: sender, in: envelope)
            }
        } catch {
            return .failure(SkyrowError(rpcParseError: error))
        }
    }

    private func discovery(from sender: Sender) -> Step {
        do throws(SkyrowError) {
            try runner.admit(sender)
            return .discover
        } catch {
            return .failure(error)
        }
    }

    private func read(
        _ action: any AnyEntry,
        parameters: JSONView,
        from sender: Sender,
        in envelope: KnownParameters.Envelope?
    ) -> Step {
        if finder != nil, action.description.name == Actions.connectionAuthenticate.name {
            return authentication(action, parameters, from: sender)
        }
        guard parameters["_user_id"] != nil else {
            return .action(runner.prepare(action, from: sender, parameters: parameters, rules: .rpc, in: envelope))
        }
        do throws(SkyrowError) {
            var sender = sender
            sender.credentials.actingUserID = try Credentials(parameters: parameters).actingUserID
            return .action(runner.prepare(action, from: sender, parameters: parameters, rules: .rpc, in: envelope))
        } catch {
            return failure(error, from: sender)
        }
    }

    private func authentication(_ action: any AnyEntry, _ parameters: JSONView, from sender: Sender) -> Step {
        do throws(SkyrowError) {
            try action.knownParameters.check(parameters)
            let given = try Actions.connectionAuthenticate.read(parameters, rules: .rpc)
            var sender = sender
            sender.credentials.key = given.key
            sender.credentials.accessToken = given.accessToken
            sender.credentials.actingUserID = given.actingUserID
            sender.credentials.isHeld = false
            return .authentication(action, sender)
        } catch {
            return failure(error, from: sender)
        }
    }

    // MARK: - Responding

    /// - Parameter isPart: Whether other calls share the response.
    private func outcome(of call: Call, context: RequestContext, isPart: Bool = false) async -> Response {
        let outcome =
            switch call.step {
            case .action(let prepared): await runner.run(prepared, live: live, context: context)
            case .authentication(let action, let sender): await authenticate(action, sender, context: context)
            case .discover: CallOutcome(.success(discovered))
            case .failure(let error): CallOutcome(.failure(error))
            }
        let user = outcome.userID
        guard let callID = call.id else { return Response(text: nil, error: outcome.error?.code, userID: user) }
        let text = ResponseText(
            outcome.result,
            of: call.step.action,
            in: .rpc(callID),
            account: context.account,
            links: runner.service.links,
            isPart: isPart
        )
        return Response(text: text.body, error: text.error?.code, userID: user)
    }

    private var discovered: ResultWriter {
        let functions = runner.functions
        return ResultWriter { $0.openRPCDocument(with: functions) }
    }

    private func authenticate(_ action: any AnyEntry, _ sender: Sender, context: RequestContext) async -> CallOutcome {
        guard let finder else { return CallOutcome(.failure(.undefinedRoute)) }
        let runner = await finder.runner(sender.credentials)
        do throws(JSONParseError) {
            let call = try JSONDocument.read(.emptyJSONObject) {
                runner.prepare(action, from: sender, parameters: $0, rules: .rpc, in: .rpc)
            }
            return await runner.run(call, live: live, context: context)
        } catch {
            return CallOutcome(.failure(SkyrowError(rpcParseError: error)))
        }
    }

    private func outcome(of calls: [Call], context: RequestContext) async -> Reply {
        var texts = [ByteBuffer?](repeating: nil, count: calls.count)
        var firstError: ErrorCode?
        var successes = 0
        var user: UserID?
        await withTaskGroup(of: (Int, Response).self) { group in
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

extension ActionRunner {
    /// Runs a call with the account and the trace of its request.
    func run(_ call: PreparedCall, live: LiveSession? = nil, context: RequestContext) async -> CallOutcome {
        var context = context
        context.action = call.name
        let outcome = await ResponseAccount.$current.withValue(context.account) {
            await RequestTrace.$current.withValue(context) {
                await run(
                    call,
                    live: live,
                    on: context.connection,
                    deadline: usesDeadlines ? context.deadline : nil,
                    id: context.id
                )
            }
        }
        if let token = outcome.renewedToken { context.renewedToken.token = token }
        return outcome
    }
}

extension UnsafeRawBufferPointer {
    /// The text `{}`, for a call without parameters.
    static var emptyJSONObject: UnsafeRawBufferPointer {
        let text: StaticString = "{}"
        return UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
    }
}
