import NIOCore
import NIOHTTP1

/// A request whose head has been read and whose body is arriving.
struct RequestAssembly {
    let head: HTTPRequestHead
    let deadline: NIODeadline
    /// The client waits for `100 Continue`, which could not be sent before the responses ahead of it.
    var owesContinue = false
    private(set) var body = ByteBuffer()
    /// What the body takes of the memory; nil as long as it is not decided whose memory that is.
    private(set) var hold: BodyHold?
    private var pace: BodyPace

    init(head: HTTPRequestHead, limits: HTTPLimits) {
        let now = NIODeadline.now()
        self.head = head
        deadline = now + limits.bodyTime
        pace = BodyPace(from: now, limits)
    }

    // MARK: - The body

    /// Adds a part of the body; returns why not, when it would be too long or there is no room for it.
    mutating func take(_ part: ByteBuffer, from peer: ConnectionPeer, in loop: EventLoopContext) -> HTTPFault? {
        guard body.readableBytes + part.readableBytes <= loop.limits.body else { return .bodyTooLarge }
        if let fault = hold?.take(part.readableBytes) { return fault }
        append(part)
        // What has come of a short body at once is not counted before it stays.
        return body.readableBytes > loop.limits.smallBody ? settle(from: peer, in: loop) : nil
    }

    /// Decides whose memory the body takes, unless that is decided; returns why it may take none.
    ///
    /// - Parameter announced: how many bytes the body will have, if the head says so.
    mutating func settle(from peer: ConnectionPeer, announced: Int = 0, in loop: EventLoopContext) -> HTTPFault? {
        guard hold == nil else { return nil }
        switch loop.hold(self, from: peer, expected: max(announced, body.readableBytes)) {
        case .success(let hold):
            self.hold = hold
            return nil
        case .failure(let fault):
            return fault
        }
    }

    /// The same for a body that has arrived whole.
    ///
    /// - Parameter waits: whether other requests come first. What is answered at once needs no look at its head: with a
    ///   wrong key it is gone again in a moment.
    mutating func complete(from peer: ConnectionPeer, waits: Bool, in loop: EventLoopContext) -> HTTPFault? {
        guard hold == nil, body.readableBytes > 0 else { return nil }
        if waits { return settle(from: peer, in: loop) }
        var hold = BodyHold(loop.bodies, pool: .accepted, usage: peer.usage)
        let fault = hold.take(body.readableBytes)
        self.hold = hold
        return fault
    }

    /// Whether the body arrives too slowly.
    ///
    /// - Parameter isWaiting: whether the client cannot go on because the server does not read.
    mutating func isTooSlow(isWaiting: Bool, now: NIODeadline, _ limits: HTTPLimits) -> Bool {
        pace.isTooSlow(bytes: body.readableBytes, isWaiting: isWaiting || owesContinue, now: now, limits)
    }

    private mutating func append(_ part: ByteBuffer) {
        if body.readableBytes == 0 {
            // Most bodies arrive in one part, which is kept without a copy.
            body = part
        } else {
            var part = part
            body.writeBuffer(&part)
        }
    }

    // MARK: - The head

    /// Whether the client waits for `100 Continue` before it sends the body.
    static func expectsContinue(_ head: HTTPRequestHead) -> Bool {
        head.version != .http1_0
            && head.headers.contains { $0.name.utf8.count == 6 && $0.name.isSameHeader(as: "expect") }
    }

    /// Whether the decoder stops after this request, because what follows would be another protocol.
    static func endsHTTP(_ head: HTTPRequestHead) -> Bool {
        head.method == .CONNECT
            || head.headers.contains { $0.name.utf8.count == 7 && $0.name.isSameHeader(as: "upgrade") }
    }
}

extension String {
    /// Compares ASCII texts without regard to case.
    func isSameHeader(as lowercase: StaticString) -> Bool {
        guard utf8.count == lowercase.utf8CodeUnitCount else { return false }
        var expected = lowercase.utf8Start
        for byte in utf8 {
            let folded = byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
            guard folded == expected.pointee else { return false }
            expected += 1
        }
        return true
    }
}
