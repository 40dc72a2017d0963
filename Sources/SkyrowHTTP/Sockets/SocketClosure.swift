import NIOCore

/// The code and the reason of a WebSocket's close frame.
struct SocketClosure: Hashable, Sendable {
    let code: UInt16
    /// At most 123 bytes.
    let reason: String

    /// Codes of RFC 6455, 7.4.1, and of the IANA registry.
    static let normal = SocketClosure(code: 1000, reason: "")
    static let unmasked = SocketClosure(code: 1002, reason: "Client frames must be masked.")
    static let reservedBits = SocketClosure(
        code: 1002,
        reason: "Reserved bits are set, but no extension was negotiated."
    )
    static let unknownOpcode = SocketClosure(code: 1002, reason: "The opcode is unknown.")
    static let misplacedFragment = SocketClosure(code: 1002, reason: "A continuation frame has no message to continue.")
    static let interruptedMessage = SocketClosure(
        code: 1002,
        reason: "A new message begins before the last one has ended."
    )
    static let malformedControl = SocketClosure(
        code: 1002,
        reason: "A control frame must not be fragmented, and has at most 125 bytes."
    )
    static let malformedClose = SocketClosure(code: 1002, reason: "The close frame has no valid status code.")
    static let binary = SocketClosure(code: 1003, reason: "Messages must be text.")
    static let invalidText = SocketClosure(code: 1007, reason: "The message is not valid UTF-8.")
    static let controlFlood = SocketClosure(code: 1008, reason: "There are too many control frames.")
    static let fragmentFlood = SocketClosure(code: 1008, reason: "The message has too many fragments.")
    static let slowMessage = SocketClosure(code: 1008, reason: "The message did not arrive completely in time.")
    static let tooLarge = SocketClosure(code: 1009, reason: "The message is too large.")
    static let failed = SocketClosure(code: 1011, reason: "A call did not end in time.")
    static let noMemory = SocketClosure(
        code: 1013,
        reason: "There is not enough memory for the message; try again later."
    )
    static let silent = SocketClosure(code: 1001, reason: "The client stopped responding.")

    /// Codes of Skyrow, from 4400.
    static let notAuthenticated = SocketClosure(code: 4401, reason: "Call connection:authenticate first.")
    static let sessionEnded = SocketClosure(code: 4401, reason: "The session has ended; log in again.")
    static let tooSlow = SocketClosure(code: 4408, reason: "The client reads too slowly; resume from the last token.")
    static let tooMany = SocketClosure(code: 4429, reason: "Too many live connections are open.")
    static let shareExceeded = SocketClosure(code: 4429, reason: "The client exceeds its share of the memory.")

    /// Returns the closure for a restart. Clients reconnect at different times.
    ///
    /// - Parameter retryAfter: How long this client waits.
    static func restarting(retryAfter: TimeAmount) -> SocketClosure {
        let tenths = max(1, retryAfter.nanoseconds / 100_000_000)
        return SocketClosure(code: 1012, reason: #"{"retry_after":\#(tenths / 10).\#(tenths % 10)}"#)
    }

    /// Returns the closure for a restart, with a random time.
    static func restarting(within spread: TimeAmount) -> SocketClosure {
        let most = max(spread.nanoseconds, 100_000_000)
        return restarting(retryAfter: .nanoseconds(Int64.random(in: 100_000_000...most)))
    }

    /// Whether a client may close with this code (RFC 6455, 7.4).
    static func mayBeSent(_ code: UInt16) -> Bool {
        switch code {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }

    var payload: ByteBuffer {
        var buffer = ByteBuffer()
        buffer.writeInteger(code)
        buffer.writeString(reason)
        return buffer
    }
}
