import NIOCore
import NIOHTTP1

extension EventLoopContext {
    /// Decides by the head to whom a body is charged, and takes memory for the bytes that have arrived.
    ///
    /// Most requests arrive completely at once and skip this (``RequestLifecycle/Claim/whole(_:)``).
    ///
    /// - Parameters:
    ///   - bytes: The bytes of the body so far.
    ///   - expected: The minimum total bytes of the body.
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

    /// Returns the usage of a request's client; behind a proxy, of the client that the head names.
    func usage(of peer: ConnectionPeer, _ head: HTTPRequestHead) -> ClientUsage? {
        guard peer.isProxy else { return peer.usage }
        return table.usage(of: clients.key(of: clients.client(of: peer.client, headers: head.headers)))
    }
}
