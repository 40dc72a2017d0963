import NIOCore
import SkyrowActions

extension SocketOutlet: LiveOutlet {
    func send(_ message: LiveMessage, in generation: Int) -> Bool {
        send(LiveText(notification: message), in: generation)
    }

    func close(_ reason: LiveClosure) {
        close(SocketClosure(reason))
    }
}

extension LiveText {
    /// Creates the JSON-RPC notification of a message.
    init(notification message: LiveMessage) {
        let head: StaticString =
            switch message.method {
            case .changes: #"{"jsonrpc":"2.0","method":"live:changes","params":"#
            case .checkpoint: #"{"jsonrpc":"2.0","method":"live:checkpoint","params":"#
            case .reset: #"{"jsonrpc":"2.0","method":"live:reset","params":"#
            }
        self.init(head: head, parts: message.parameters.parts, tail: "}")
    }
}

extension SocketClosure {
    init(_ reason: LiveClosure) {
        switch reason {
        case .sessionEnded: self = .sessionEnded
        case .tooSlow: self = .tooSlow
        case .restarting(let retryAfter): self = .restarting(retryAfter: TimeAmount(retryAfter))
        }
    }
}
