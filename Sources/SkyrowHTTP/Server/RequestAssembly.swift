import NIOCore
import NIOHTTP1

/// A request whose head has been read and whose body is arriving.
struct RequestAssembly {
    let head: HTTPRequestHead
    let deadline: NIODeadline
    /// The client waits for `100 Continue`, which could not be sent before the answers ahead of it.
    var owesContinue = false
    private(set) var body = ByteBuffer()

    init(head: HTTPRequestHead, deadline: NIODeadline) {
        self.head = head
        self.deadline = deadline
    }

    /// Adds a part of the body; answers why not, when the body or all bodies in memory would be too long.
    mutating func take(_ part: ByteBuffer, limit: Int, budget: ByteBudget) -> HTTPFault? {
        guard body.readableBytes + part.readableBytes <= limit else { return .bodyTooLarge }
        guard budget.reserve(part.readableBytes) else { return .overloaded }
        append(part)
        return nil
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

    /// What is wrong with a head whatever its body will be, judged before a byte of the body is read.
    static func fault(in head: HTTPRequestHead, bodyLimit: Int) -> HTTPFault? {
        for (name, value) in head.headers {
            switch name.utf8.count {
            case 14 where name.isSameHeader(as: "content-length"):
                // The decoder let digits pass only; more of them than fit an Int are too many bytes as well.
                if Int(value).map({ $0 > bodyLimit }) ?? true { return .bodyTooLarge }
            case 6 where name.isSameHeader(as: "expect"):
                if !value.isSameHeader(as: "100-continue") { return .expectationFailed }
            default:
                continue
            }
        }
        return nil
    }

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
