import SkyrowModel

/// One run of a subscription. It takes a step whenever its reader requests the next value, and ends with the reader's task,
/// with an error, or when the reader drops it.
protocol SubscriptionRun: AnyObject {
    associatedtype Output

    var link: StreamLink { get }

    /// Takes the next step; nil when it has no value yet.
    func step() async throws(ClientError) -> Output?
}

extension SubscriptionRun {
    /// Returns the next output; nil when the task is cancelled, and after an error.
    func next() async throws(ClientError) -> Output? {
        if link.hasEnded { return nil }
        do throws(ClientError) {
            while !Task.isCancelled {
                if let output = try await step() { return output }
            }
            link.end()
            return nil
        } catch {
            link.end()
            if error.code == .cancelled || Task.isCancelled { return nil }
            throw error
        }
    }
}

/// The part of a run that deals with the event stream: its subscription, and the refusals of the service.
final class StreamLink {
    let client: SkyrowClient
    private let subscription: LiveSubscription
    private var refusals: LiveRefusals
    private(set) var hasEnded = false

    init(_ request: LiveRequest, of client: SkyrowClient, byteLimit: Int) {
        self.client = client
        subscription = client.live.subscription(request, byteLimit: byteLimit)
        refusals = LiveRefusals(maximumAttempts: client.retryPolicy.maximumAttempts)
    }

    deinit {
        client.live.remove(subscription, of: client)
    }

    func end() {
        hasEnded = true
        client.live.remove(subscription, of: client)
    }

    func attach(_ start: LiveStart, after pause: Duration?) async throws(ClientError) {
        if let pause { try await client.waitToSubscribe(pause) }
        try client.live.join(subscription, start, of: client)
    }

    /// Waits for the next item of the stream.
    func listen() async throws(ClientError) -> LiveItem {
        guard let item = await subscription.next() else { throw ClientError(.cancelled, "The live query has ended.") }
        if case .reset(.session, _, _) = item {
            throw .refused(SkyrowError(.accessTokenNotAccepted, "The session has ended; log in again."))
        }
        return item
    }

    /// Resets the refusals, since the service has accepted the subscription.
    func accepted() { refusals.passed() }

    /// Returns the delay before the next attempt; throws the refusal when another attempt cannot succeed.
    func pause(after error: ClientError, isEstablished: Bool) throws(ClientError) -> Duration {
        try refusals.pause(after: error, isEstablished: isEstablished)
    }
}
