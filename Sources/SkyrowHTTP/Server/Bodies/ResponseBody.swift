package import NIOCore
import SkyrowConcurrency

/// The body of a response.
package enum ResponseBody: Sendable {
    case bytes(ByteBuffer)
    case stream(ResponseStream)
    case file(ResponseFile)

    /// How many bytes it has; nil when only its end will show.
    var length: Int? {
        switch self {
        case .bytes(let bytes): bytes.readableBytes
        case .stream(let stream): stream.length
        case .file(let file): file.range.count
        }
    }
}

/// A body that is made while it is sent.
///
/// ```swift
/// HTTPResponse(status: .ok, contentType: .octets, stream: ResponseStream { writer in
///     for try await row in rows { try await writer.write(row) }
/// })
/// ```
package struct ResponseStream: Sendable {
    /// The bytes of all parts together; another number of them ends the connection. nil when it is not known.
    package let length: Int?
    /// Whether the service may keep its client waiting for as long as it likes, as for events that may never come. Such a stream is
    /// cancelled when the server ends, and then ends by itself.
    package let isEndless: Bool
    /// Writes the parts. It is cancelled when the client leaves, or when it makes a client that reads wait longer than
    /// `HTTPLimits.response`; when it throws, the connection ends, by which the client learns that the body is not whole.
    let make: @Sendable (ResponseWriter) async throws -> Void
    /// Has an endless stream send something soon, where its client has closed its side: the system of one that is gone answers it with
    /// a reset.
    let probe: (@Sendable () -> Void)?

    package init(
        length: Int? = nil,
        isEndless: Bool = false,
        probe: (@Sendable () -> Void)? = nil,
        _ make: @escaping @Sendable (ResponseWriter) async throws -> Void
    ) {
        self.length = length
        self.isEndless = isEndless
        self.probe = probe
        self.make = make
    }
}

/// Sends the parts of a streamed response.
package struct ResponseWriter: Sendable {
    private let output: NIOLoopBound<any ResponseOutput>
    private let offers: NIOLoopBound<any ResponseOffers>?
    private let number: UInt64
    /// By which other threads have the event loop offer parts; nil where the output takes none so.
    let mailbox: LoopMailbox?

    /// - Parameter number: which of the responses of the output it writes.
    init(_ output: any ResponseOutput, number: UInt64, in loop: EventLoopContext) {
        self.output = NIOLoopBound(output, eventLoop: loop.eventLoop)
        offers = (output as? any ResponseOffers).map { NIOLoopBound($0, eventLoop: loop.eventLoop) }
        self.number = number
        mailbox = offers == nil ? nil : loop.mailbox
    }

    /// Sends a part, and returns when the client has room for the next.
    ///
    /// One part is written at a time, and an empty one waits for room alone. Throws `CancellationError` when the response cannot be
    /// completed any more.
    package func write(_ part: ByteBuffer) async throws {
        try await write(.byteBuffer(part))
    }

    func write(_ part: IOData) async throws {
        let writer = Deferred<Bool>()
        let output = output
        let number = number
        if output.eventLoop.inEventLoop {
            output.value.write(part, of: number, writer)
        } else {
            output.eventLoop.execute { output.value.write(part, of: number, writer) }
        }
        guard await writer.value() else { throw CancellationError() }
    }

    /// Whether a part that is offered would be taken; asked on the event loop, while no part is being written.
    var hasRoom: Bool { offers?.value.hasRoom(for: number) ?? false }

    /// Sends a part without a wait; only on the event loop, and while it ``hasRoom``. Returns whether it has room for a next one.
    func offer(_ part: ByteBuffer) -> Bool {
        offers?.value.write(part, of: number) ?? false
    }
}

/// What takes the parts of a streamed response; used on its event loop only.
protocol ResponseOutput: AnyObject {
    /// Takes a part, and lets its writer go on with true when there is room for the next, and with false when there will be none.
    func write(_ part: IOData, of number: UInt64, _ writer: Deferred<Bool>)
}

/// An output that takes parts without their writer's waiting as well.
protocol ResponseOffers: ResponseOutput {
    /// Whether the client takes what it is sent, so that a writer would not wait.
    func hasRoom(for number: UInt64) -> Bool
    /// Takes a part for which there is room; returns whether there is some for a next one.
    func write(_ part: ByteBuffer, of number: UInt64) -> Bool
}
