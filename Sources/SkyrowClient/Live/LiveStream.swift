import SkyrowConcurrency
import SkyrowJSON
import SkyrowModel
import SkyrowProtocol
import Synchronization

/// The event stream of a client, which carries all of its live queries and is reopened when it breaks.
final class LiveStream: Sendable {
    private struct State {
        var plan = LiveStreamPlan()
        var subscriptions: [String: LiveSubscription] = [:]
        var lastName = 0
        /// The task that opens one stream after another while there are subscriptions.
        var runner: (task: Task<Void, Never>, number: Int)?
        var lastRunner = 0
        /// The task that reads the current stream.
        var reader: Task<End, Never>?
        /// The number of chunks that have arrived.
        var heard = 0
    }

    /// How a stream ended.
    private enum End: Sendable {
        /// Another stream replaces it.
        case interrupted
        case ended(wasOpen: Bool, asked: Duration?)
        case refused(ClientErrorValue)
    }

    private let state = Mutex(State())
    private let silence: Duration

    /// - Parameter silence: how long nothing may arrive before a stream counts as broken.
    init(silence: Duration = LivePauses.silence) {
        self.silence = silence
    }

    /// Returns a subscription that is not in a stream yet.
    func subscription(_ request: LiveRequest, byteLimit: Int) -> LiveSubscription {
        let number = state.withLock { state in
            state.lastName += 1
            return state.lastName
        }
        return LiveSubscription(name: "q\(number)", request: request, byteLimit: byteLimit)
    }

    /// Adds a subscription to the stream, which is reopened for it; false when there are too many.
    func attach(_ subscription: LiveSubscription, _ start: LiveStart, of client: SkyrowClient) -> Bool {
        state.withLock { state in
            guard state.plan.attach(subscription.name, start) else { return false }
            state.subscriptions[subscription.name] = subscription
            state.reader?.cancel()
            if state.runner == nil {
                state.lastRunner += 1
                let number = state.lastRunner
                state.runner = (Task { await self.run(client, number) }, number)
            }
            return true
        }
    }

    /// Ends a subscription; the stream ends with the last one.
    func remove(_ subscription: LiveSubscription, of client: SkyrowClient) {
        subscription.end()
        let leftIn: Int? = state.withLock { state in
            state.subscriptions[subscription.name] = nil
            state.plan.remove(subscription.name)
            if state.plan.isEmpty {
                state.runner?.task.cancel()
                state.runner = nil
                return nil
            }
            return state.plan.hasLeftovers ? state.plan.generation : nil
        }
        guard let leftIn else { return }
        Task {
            try await client.pause(LivePauses.leftovers)
            state.withLock { state in
                if state.plan.generation == leftIn, state.plan.hasLeftovers { state.reader?.cancel() }
            }
        }
    }

    /// Reopens the stream for another user.
    func callerChanged() {
        state.withLock { $0.reader?.cancel() }
    }
}

// MARK: One stream after the other

extension LiveStream {
    private func run(_ client: SkyrowClient, _ number: Int) async {
        var attempt = 0
        while !Task.isCancelled {
            // Queries that start together share one reopening of the stream.
            guard (try? await client.pause(LivePauses.opening)) != nil else { return }
            guard let reader = open(client, number) else { return }
            let end = await withTaskCancellationHandler {
                await reader.value
            } onCancel: {
                reader.cancel()
            }
            state.withLock { state in
                if state.runner?.number == number { state.reader = nil }
            }
            switch end {
            case .interrupted:
                attempt = 0
            case .refused(let error):
                refuse(error)
            case .ended(let wasOpen, let asked):
                attempt = wasOpen ? 1 : attempt + 1
                let pause = LivePauses.before(attempt: attempt, asked: asked, share: .random(in: 0...1))
                guard (try? await client.pause(pause)) != nil else { return }
            }
        }
    }

    /// Starts to read the next stream; nil when the runner has no more work.
    private func open(_ client: SkyrowClient, _ number: Int) -> Task<End, Never>? {
        state.withLock { state in
            guard state.runner?.number == number else { return nil }
            guard let opening = state.plan.open() else {
                state.runner = nil
                return nil
            }
            for name in opening.restarted { deliver(.restarted, 0, to: name, &state) }
            let calls = opening.entries.compactMap { entry in
                state.subscriptions[entry.name].map { (entry.id, $0.request(from: entry.start)) }
            }
            let generation = opening.generation
            let reader = Task { await self.read(calls, generation, of: client) }
            state.reader = reader
            return reader
        }
    }

    private func refuse(_ error: ClientErrorValue) {
        state.withLock { state in
            for name in state.plan.refuseAll(of: state.plan.generation) {
                deliver(.refused(error), 0, to: name, &state)
            }
        }
    }

    private func deliver(_ item: LiveItem, _ byteCount: Int, to name: String, _ state: inout State) {
        guard let subscription = state.subscriptions[name] else { return }
        // A subscription that falls behind is removed until it has caught up.
        if !subscription.push(item, byteCount: byteCount) { state.plan.drop(name) }
    }
}

// MARK: Reading a stream

extension LiveStream {
    /// Upper bound on the size of a response that is not an event stream.
    private static let responseLimit = 1 << 20

    private func read(
        _ calls: [(id: Int, request: LiveRequest)],
        _ generation: Int,
        of client: SkyrowClient
    ) async -> End {
        let heardBefore = state.withLock { $0.heard }
        let watch = watchSilence(heardBefore)
        defer { watch.task.cancel() }
        let session = client.session
        let body = RPCBody.subscriptions(calls)
        var wasOpen = false
        var parser = EventStreamParser()
        func ending() -> End {
            if Task.isCancelled, watch.hasStruck.settled == nil { return .interrupted }
            return .ended(wasOpen: wasOpen, asked: parser.retry)
        }
        do {
            let stream = try await client.openStream(body, session: session)
            guard stream.isEventStream else { return try await refusal(of: stream, generation, client, session) }
            for try await bytes in stream.body {
                wasOpen = true
                state.withLock { $0.heard += 1 }
                for event in try parser.take(bytes) {
                    if let closing = try take(event, generation, client, session) {
                        return end(closing, client, session, asked: parser.retry)
                    }
                }
            }
            return ending()
        } catch let error as SkyrowError {
            return .refused(.invalid("The event stream cannot be read: \(error.message)"))
        } catch let error as EventStreamParser.Failure {
            return .refused(.invalid("The event stream cannot be read: \(error)."))
        } catch let error as ClientError where error.code == .unsupported {
            return .refused(.invalid(error.message))
        } catch {
            return ending()
        }
    }

    /// The reason why the service closes a stream.
    private struct Closing {
        let code: Int?
        let pause: Duration?
    }

    /// Returns how a stream ends that the service closes.
    private func end(_ closing: Closing, _ client: SkyrowClient, _ session: Session?, asked: Duration?) -> End {
        switch closing.code {
        case 4401:
            client.forget(session)
            return .refused(.refused(SkyrowError(.accessTokenNotAccepted, "The session has ended; log in again.")))
        // There are too many streams, so each attempt waits longer.
        case 4429: return .ended(wasOpen: false, asked: closing.pause ?? asked)
        // The next stream continues from the last checkpoints.
        default: return .ended(wasOpen: true, asked: closing.pause ?? asked)
        }
    }

    /// Processes an event; returns the reason when the service closes the stream.
    private func take(
        _ event: EventStreamParser.Event,
        _ generation: Int,
        _ client: SkyrowClient,
        _ session: Session?
    ) throws(SkyrowError) -> Closing? {
        let notice = try LiveNotice(event)
        if case .closed(let code, let pause) = notice { return Closing(code: code, pause: pause) }
        switch notice {
        case .reset(_, .session, _, _): client.forget(session)
        case .response(_, let error?) where error.code == .accessTokenNotAccepted: client.forget(session)
        default: break
        }
        hand(out: notice, generation)
        return nil
    }

    private func hand(out notice: LiveNotice, _ generation: Int) {
        state.withLock { state in
            for (name, item, byteCount) in state.plan.take(notice, of: generation) {
                deliver(item, byteCount, to: name, &state)
            }
        }
    }

    /// Returns how a stream ends whose response is not an event stream.
    private func refusal(
        of stream: TransportStream,
        _ generation: Int,
        _ client: SkyrowClient,
        _ session: Session?
    ) async throws -> End {
        var body: [UInt8] = []
        for try await bytes in stream.body {
            body += bytes
            guard body.count <= Self.responseLimit else { break }
        }
        let document = try? JSONDocument(body)
        let refusal = document?.withRoot { root in
            root.isObject ? root["error"].flatMap { $0.isObject ? SkyrowError(rpc: $0) : nil } : nil
        }
        switch stream.status {
        case 429, 502, 503, 504: return .ended(wasOpen: false, asked: refusal?.retryAfter)
        default: break
        }
        if let refusal {
            if refusal.code == .accessTokenNotAccepted { client.forget(session) }
            return .refused(.refused(refusal))
        }
        guard let document else {
            return .refused(.invalid("The response is not from a Skyrow service (HTTP \(stream.status))."))
        }
        return document.withRoot { root in
            guard root.isArray else {
                return .refused(.invalid("The service has no event streams (HTTP \(stream.status))."))
            }
            for element in root.elements { hand(out: .response(element), generation) }
            return .refused(.invalid("The service has no event streams (HTTP \(stream.status))."))
        }
    }

    /// Ends the current stream when nothing arrives for too long; the sleep is the timeout itself.
    private func watchSilence(_ heardBefore: Int) -> (task: Task<Void, Never>, hasStruck: Deferred<Void>) {
        let hasStruck = Deferred<Void>()
        let task = Task {
            var before = heardBefore
            while (try? await Task.sleep(for: silence)) != nil {
                let now = state.withLock { $0.heard }
                if now == before {
                    hasStruck.settle()
                    state.withLock { $0.reader?.cancel() }
                    return
                }
                before = now
            }
        }
        return (task, hasStruck)
    }
}
