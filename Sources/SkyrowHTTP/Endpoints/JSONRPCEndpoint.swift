import NIOCore
import NIOHTTP1
import SkyrowModel
import SkyrowWire

/// `POST /rpc`: JSON-RPC 2.0 (https://www.jsonrpc.org/specification).
///
/// The HTTP status is 200 for every outcome of a call: the status describes the transport, `error.code` the
/// call. A body of notifications gets 204.
struct JSONRPCEndpoint: Sendable {
    /// Calls of one batch.
    static let batchLimit = 100
    /// Calls of one batch that run at once.
    static let concurrency = 8

    private let dispatcher: ActionDispatcher
    private let description = OpenRPCDocument.text

    init(dispatcher: ActionDispatcher) {
        self.dispatcher = dispatcher
    }

    /// A call that was read; its response is made apart from the request's bytes.
    private enum Step: Sendable {
        case action(ActionDispatcher.PreparedCall)
        case discover
        case failure(SkyrowError)

        var action: ActionName? {
            switch self {
            case .action(let call): call.action
            case .discover, .failure: nil
            }
        }

        var subject: RequestSubject {
            switch self {
            case .action(let call): .action(call.action)
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

    /// What became of one call; no text for a notification.
    private struct CallOutcome: Sendable {
        let text: ByteBuffer?
        let error: ErrorCode?
        let userID: UserID?
    }

    func respond(to body: ByteBuffer, from sender: ActionDispatcher.Sender, context: RequestContext) async
        -> RequestOutcome
    {
        switch read(body, from: sender) {
        case .single(let call):
            let outcome = await outcome(of: call, context: context)
            var response = outcome.text.map { HTTPResponse(status: .ok, body: $0) } ?? HTTPResponse(status: .noContent)
            response.hold(context.account)
            return RequestOutcome(response, call.step.subject, error: outcome.error, userID: outcome.userID)
        case .batch(let calls):
            return await outcome(of: calls, context: context)
        }
    }

    // MARK: - Reading

    private func read(_ body: ByteBuffer, from sender: ActionDispatcher.Sender) -> Body {
        body.withUnsafeReadableBytes { bytes in
            do throws(JSONParseError) {
                return try JSONDocument.read(bytes) { read($0, from: sender) }
            } catch {
                return .single(Call(step: failure(SkyrowError(rpcParseError: error), from: sender), id: .null))
            }
        }
    }

    /// A failure that is found before an action is; it counts as a call.
    private func failure(_ error: SkyrowError, from sender: ActionDispatcher.Sender) -> Step {
        do throws(SkyrowError) {
            try dispatcher.admit(sender)
            return .failure(error)
        } catch {
            return .failure(error)
        }
    }

    private func read(_ root: JSONView, from sender: ActionDispatcher.Sender) -> Body {
        // Counted before anything is made of the entries.
        guard !root.isArray || root.count <= JSONRPCEndpoint.batchLimit else {
            let error = SkyrowError(.invalidRequest, "A batch has at most \(JSONRPCEndpoint.batchLimit) calls.")
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
                SkyrowError(.methodNotFound, "There is no method of that name; rpc.discover lists them."),
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
        if parameters["_user_id"] != nil {
            do throws(SkyrowError) {
                sender.credentials.actingUserID = try Credentials(parameters: parameters).actingUserID
            } catch {
                return failure(error, from: sender)
            }
        }
        return .action(dispatcher.prepare(action, from: sender, parameters: parameters, rules: .rpc))
    }

    // MARK: - Responding

    /// - Parameter isPart: whether other calls go out in the same response.
    private func outcome(of call: Call, context: RequestContext, isPart: Bool = false) async -> CallOutcome {
        let (outcome, user): (ActionDispatcher.Outcome, UserID?) =
            switch call.step {
            case .action(let prepared): await dispatcher.perform(prepared, context: context)
            case .discover: (.succeeded(.json(description)), nil)
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

    private func outcome(of calls: [Call], context: RequestContext) async -> RequestOutcome {
        var texts = [ByteBuffer?](repeating: nil, count: calls.count)
        var firstError: ErrorCode?
        var user: UserID?
        await withTaskGroup(of: (Int, CallOutcome).self) { group in
            var next = 0
            func startNext() {
                guard next < calls.count else { return }
                let index = next
                next += 1
                group.addTask { (index, await outcome(of: calls[index], context: context, isPart: true)) }
            }
            for _ in 0..<JSONRPCEndpoint.concurrency { startNext() }
            for await (index, outcome) in group {
                texts[index] = outcome.text
                if firstError == nil { firstError = outcome.error }
                if user == nil { user = outcome.userID }
                startNext()
            }
        }
        let hasTexts = texts.contains { $0 != nil }
        var response = HTTPResponse(status: hasTexts ? .ok : .noContent)
        if hasTexts { response.body = .bytes(JSONRPCEndpoint.array(&texts)) }
        response.hold(context.account)
        return RequestOutcome(response, .batch, error: firstError, calls: calls.count, userID: user)
    }

    /// Joins the texts, and gives up each as soon as it is copied.
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
    /// `{}`, for a call that comes without parameters.
    static var emptyJSONObject: UnsafeRawBufferPointer {
        let text: StaticString = "{}"
        return UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
    }
}
