/// A message that the service sends to a client without a request.
///
/// ```swift
/// {"jsonrpc":"2.0","method":"live:changes","params":{"phase":"live","changes":[…]}}
/// ```
package struct LiveMessage: Sendable {
    package enum Method: String, Hashable, Sendable, CaseIterable {
        /// Events of subscriptions.
        case changes = "live:changes"
        /// Change tokens from which subscriptions can resume.
        case checkpoint = "live:checkpoint"
        /// The end of a subscription, and how to restart it.
        case reset = "live:reset"
    }

    /// The JSON text of the parameters, in parts that several messages may share.
    ///
    /// Messages with the same text to several clients share one object, by whose identity an outlet finds what it has already
    /// serialized.
    package final class Text: Sendable {
        package let parts: [[UInt8]]
        /// The total number of bytes.
        package let byteCount: Int

        fileprivate init(_ parts: [[UInt8]]) {
            self.parts = parts
            byteCount = parts.reduce(0) { $0 + $1.count }
        }
    }

    package let method: Method
    package let parameters: Text
    /// The change token at this point, for a checkpoint of a single subscription: the `id:` of an event stream.
    package let token: String?

    package var byteCount: Int { parameters.byteCount }

    package init(_ method: Method, parameters: [[UInt8]], token: String? = nil) {
        self.method = method
        self.parameters = Text(parameters)
        self.token = token
    }
}

/// The destination of a live session's messages: a WebSocket or an event stream.
package protocol LiveOutlet: AnyObject, Sendable {
    /// Accepts a message and returns at once, on any thread; the messages of one session arrive in order.
    ///
    /// It is called under the lock of all live queries, so it must not call back into them.
    ///
    /// - Parameter generation: the generation in which the sender has lost no message.
    /// - Returns: false if the message is dropped because the connection is in another generation or falls behind with it.
    func send(_ message: LiveMessage, in generation: Int) -> Bool
    /// A number that grows when the connection drops messages, and again when it accepts messages; odd in between.
    var generation: Int { get }
    /// Closes the connection after the messages that it has accepted.
    func close(_ reason: LiveClosure)
    /// Waits until the accepted messages are written, so that the pages of a large result don't make the connection fall behind.
    func waitForRoom(atMost limit: Duration) async
}

extension LiveOutlet {
    /// Returns at once, for an outlet without a buffer.
    package func waitForRoom(atMost limit: Duration) async {}
}

/// Why the service closes a connection.
package enum LiveClosure: Hashable, Sendable {
    /// The caller's session has ended: 4401.
    case sessionEnded
    /// The connection was behind for too long: 4408.
    case tooSlow
    /// The process shuts down: 1012.
    case restarting(retryAfter: Duration)
}
