/// A message that the service sends to a client by itself.
///
/// ```swift
/// {"jsonrpc":"2.0","method":"live:changes","params":{"phase":"live","changes":[…]}}
/// ```
package struct LiveMessage: Sendable {
    package enum Method: String, Hashable, Sendable, CaseIterable {
        /// Events of subscriptions.
        case changes = "live:changes"
        /// Change tokens from which subscriptions can go on.
        case checkpoint = "live:checkpoint"
        /// The end of a subscription, and how to begin again.
        case reset = "live:reset"
    }

    /// The JSON text of parameters, in parts that others may share.
    ///
    /// Messages of the same text to several clients are one message, by which an outlet knows what it has written already.
    package final class Text: Sendable {
        package let parts: [[UInt8]]
        /// How many bytes there are in all parts.
        package let byteCount: Int

        fileprivate init(_ parts: [[UInt8]]) {
            self.parts = parts
            byteCount = parts.reduce(0) { $0 + $1.count }
        }
    }

    package let method: Method
    package let parameters: Text
    /// The change token after it, where the message is a checkpoint of a single subscription: the `id:` of an event stream.
    package let token: String?

    /// How many bytes the parameters have.
    package var byteCount: Int { parameters.byteCount }

    package init(_ method: Method, parameters: [[UInt8]], token: String? = nil) {
        self.method = method
        self.parameters = Text(parameters)
        self.token = token
    }
}

/// Where the messages of a live session go: one connection, a WebSocket or an event stream.
package protocol LiveOutlet: AnyObject, Sendable {
    /// Takes a message and returns at once, on any thread; messages of one session come in order.
    ///
    /// It is called under the lock of all live queries, so it calls nothing of them.
    ///
    /// - Parameter generation: that of which the sender has lost no message.
    /// - Returns: false where the message is dropped, because the connection is in another generation or falls behind by it.
    func send(_ message: LiveMessage, in generation: Int) -> Bool
    /// Grows when the connection drops messages, and again when it takes messages anew; odd in between.
    var generation: Int { get }
    /// Ends the connection after what it has taken.
    func close(_ reason: LiveClosure)
    /// Waits until what it has taken has left, so that the pages of many records do not make it fall behind.
    func waitForRoom(atMost limit: Duration) async
}

extension LiveOutlet {
    /// For an outlet that holds nothing back.
    package func waitForRoom(atMost limit: Duration) async {}
}

/// Why the service ends a connection.
package enum LiveClosure: Hashable, Sendable {
    /// The session of its caller has ended: 4401.
    case sessionEnded
    /// It was behind for too long: 4408.
    case tooSlow
    /// There are too many of them: 4429.
    case tooMany
    /// The process ends: 1012.
    case restarting(retryAfter: Duration)
}
