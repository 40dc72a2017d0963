import NIOCore
import NIOWebSocket

/// The frame parser of one client: assembles messages from fragments and enforces the protocol. It sends nothing.
struct WebSocketInput {
    enum Outcome: Hashable {
        /// More fragments follow.
        case incomplete
        case message(ByteBuffer)
        /// Requires a pong with the same content.
        case ping(ByteBuffer)
        case pong
        /// The client closes, with this code if it sent one.
        case close(UInt16?)
        /// The connection must be closed.
        case fault(SocketClosure)
    }

    /// The fragments so far; nil between messages.
    private var fragments: ByteBuffer?
    private var fragmentCost = 0
    private var controls = 0
    private var controlWindowEnd = NIODeadline.distantPast

    /// The minimum cost of a fragment, which bounds the number of empty ones.
    private static let leastFragment = 128

    var heldBytes: Int { fragments?.readableBytes ?? 0 }
    var isWithinMessage: Bool { fragments != nil }

    mutating func receive(_ frame: WebSocketFrame, now: NIODeadline, _ limits: HTTPLimits) -> Outcome {
        guard !frame.rsv1, !frame.rsv2, !frame.rsv3 else { return .fault(.reservedBits) }
        guard frame.maskKey != nil else { return .fault(.unmasked) }
        switch frame.opcode {
        case .text:
            guard fragments == nil else { return .fault(.interruptedMessage) }
            return frame.fin ? whole(frame.unmaskedData, limits.body) : keep(frame.unmaskedData, limits.body)
        case .continuation:
            guard fragments != nil else { return .fault(.misplacedFragment) }
            let outcome = keep(frame.unmaskedData, limits.body)
            guard outcome == .incomplete, frame.fin else { return outcome }
            return complete()
        case .binary:
            return .fault(.binary)
        case .ping, .pong, .connectionClose:
            guard isWithinBudget(now, limits.live) else { return .fault(.controlFlood) }
            return control(frame)
        default:
            return .fault(.unknownOpcode)
        }
    }

    private func whole(_ text: ByteBuffer, _ limit: Int) -> Outcome {
        guard text.readableBytes <= limit else { return .fault(.tooLarge) }
        return text.isValidUTF8 ? .message(text) : .fault(.invalidText)
    }

    private mutating func keep(_ part: ByteBuffer, _ limit: Int) -> Outcome {
        let held = heldBytes
        guard part.readableBytes <= limit - held else { return .fault(.tooLarge) }
        fragmentCost += max(part.readableBytes, WebSocketInput.leastFragment)
        // The last fragments of a message at the limit may be short, too.
        guard fragmentCost <= limit + 64 * WebSocketInput.leastFragment else { return .fault(.fragmentFlood) }
        if held == 0 {
            fragments = part
        } else {
            fragments?.writeImmutableBuffer(part)
        }
        return .incomplete
    }

    private mutating func complete() -> Outcome {
        let text = fragments ?? ByteBuffer()
        fragments = nil
        fragmentCost = 0
        return text.isValidUTF8 ? .message(text) : .fault(.invalidText)
    }

    private mutating func isWithinBudget(_ now: NIODeadline, _ limits: LiveLimits) -> Bool {
        if now >= controlWindowEnd {
            controlWindowEnd = now + limits.controlWindow
            controls = 0
        }
        controls += 1
        return controls <= limits.controlFrames
    }

    private func control(_ frame: WebSocketFrame) -> Outcome {
        guard frame.fin, frame.length <= 125 else { return .fault(.malformedControl) }
        switch frame.opcode {
        case .ping: return .ping(frame.unmaskedData)
        case .pong: return .pong
        default:
            var data = frame.unmaskedData
            guard data.readableBytes > 0 else { return .close(nil) }
            guard let code: UInt16 = data.readInteger(), SocketClosure.mayBeSent(code) else {
                return .fault(.malformedClose)
            }
            return data.isValidUTF8 ? .close(code) : .fault(.invalidText)
        }
    }
}

extension ByteBuffer {
    var isValidUTF8: Bool { withUnsafeReadableBytes { String(validating: $0, as: UTF8.self) != nil } }
}
