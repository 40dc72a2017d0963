import NIOCore
import NIOHTTP1

extension EventLoopContext {
    /// Decides by its head whose memory a body takes, and takes it for what has arrived.
    ///
    /// Most requests arrive whole at once and never come here (``RequestAssembly/complete(from:in:waits:)``).
    ///
    /// - Parameter expected: how many bytes the body has at least.
    func hold(
        _ assembly: RequestAssembly,
        from peer: ConnectionPeer,
        expected: Int
    ) -> Result<BodyHold, HTTPFault> {
        let usage = peer.isProxy ? forwardedUsage(peer, assembly.head) : peer.usage
        let standing = responder.standing(of: assembly.head)
        var hold: BodyHold
        switch standing {
        case .accepted: hold = BodyHold(bodies, pool: .accepted, usage: usage)
        case .unverified: hold = BodyHold(bodies, pool: .unverified, usage: usage)
        case .missing:
            guard expected <= limits.smallBody else { return .failure(.credentialsRequired) }
            hold = BodyHold(bodies, pool: .unverified, usage: usage, limit: limits.smallBody)
        }
        if let fault = hold.take(assembly.body.readableBytes) { return .failure(fault) }
        return .success(hold)
    }

    private func forwardedUsage(_ peer: ConnectionPeer, _ head: HTTPRequestHead) -> ClientUsage? {
        table.usage(of: clients.key(of: clients.client(of: peer.client, headers: head.headers)))
    }
}
