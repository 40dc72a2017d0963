import NIOCore
import NIOHTTP1

extension EventLoopContext {
    /// Decides by its head whose memory a body takes, and takes it for what has arrived.
    ///
    /// Most requests arrive whole at once and never come here (``RequestLifecycle/Claim/whole(_:)``).
    ///
    /// - Parameters:
    ///   - bytes: of the body, so far.
    ///   - expected: how many bytes it has at least.
    func hold(
        _ head: HTTPRequestHead,
        from peer: ConnectionPeer,
        bytes: Int,
        expected: Int
    ) -> Result<BodyHold, HTTPFault> {
        let usage = usage(of: peer, head)
        var hold: BodyHold
        switch responder.standing(of: head) {
        case .accepted: hold = BodyHold(bodies, pool: .accepted, usage: usage)
        case .unverified: hold = BodyHold(bodies, pool: .unverified, usage: usage)
        case .missing:
            guard expected <= limits.smallBody else { return .failure(.credentialsRequired) }
            hold = BodyHold(bodies, pool: .unverified, usage: usage, limit: limits.smallBody)
        }
        if let fault = hold.take(bytes) { return .failure(fault) }
        return .success(hold)
    }

    /// What the client of a request holds; behind a proxy the one that its head names.
    func usage(of peer: ConnectionPeer, _ head: HTTPRequestHead) -> ClientUsage? {
        guard peer.isProxy else { return peer.usage }
        return table.usage(of: clients.key(of: clients.client(of: peer.client, headers: head.headers)))
    }
}
