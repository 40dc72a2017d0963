package import NIOCore
import SkyrowConcurrency

/// The body of a response.
package enum ResponseBody: Sendable {
    case bytes(ByteBuffer)
    case stream(ResponseStream)
    case file(ResponseFile)

    /// The number of bytes; nil when it is not known in advance.
    var length: Int? {
        switch self {
        case .bytes(let bytes): bytes.readableBytes
        case .stream(let stream): stream.length
        case .file(let file): file.range.count
        }
    }
}

/// A body that is produced while it is sent.
///
/// ```swift
/// HTTPResponse(status: .ok, contentType: .octets, stream: ResponseStream { writer in
///     for try await row in rows { try await writer.write(row) }
/// })
/// ```
package struct ResponseStream: Sendable {
    /// The total bytes of all parts; any other total ends the connection. nil when it is not known in advance.
    package let length: Int?
    /// Whether the service may keep its client waiting indefinitely, for example for events. Such a stream is cancelled when the
    /// server shuts down, and must then end by itself.
    package let isEndless: Bool
    /// Writes the parts. Cancelled when the client leaves, or when the service keeps a reading client waiting longer than
    /// `HTTPLimits.response`. An error ends the connection, which shows the client that the body is incomplete.
    let make: @Sendable (ResponseWriter) async throws -> Void
    /// Makes an endless stream send something soon after its client has closed its side: the system of a client that is gone
    /// responds with a reset.
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
    /// The mailbox by which other threads make the event loop offer parts; nil when the output accepts no offers.
    let mailbox: LoopMailbox?

    /// - Parameter number: Which of the output's responses to write.
    init(_ output: any ResponseOutput, number: UInt64, in loop: EventLoopContext) {
        self.output = NIOLoopBound(output, eventLoop: loop.eventLoop)
        offers = (output as? any ResponseOffers).map { NIOLoopBound($0, eventLoop: loop.eventLoop) }
        self.number = number
        mailbox = offers == nil ? nil : loop.mailbox
    }

    /// Sends a part, and returns when the client has room for the next.
    ///
    /// One part is written at a time; an empty part only waits for room. Throws `CancellationError` when the response cannot be
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

    /// Whether an offered part would be accepted; read on the event loop, while no part is being written.
    var hasRoom: Bool { offers?.value.hasRoom(for: number) ?? false }

    /// Sends a part without waiting; only on the event loop, and while ``hasRoom``.
    /// Returns whether there is room for another one.
    func offer(_ part: ByteBuffer) -> Bool {
        offers?.value.write(part, of: number) ?? false
    }
}

/// The receiver of a streamed response's parts; used only on its event loop.
protocol ResponseOutput: AnyObject {
    /// Writes a part, and resumes its writer: with true when there is room for the next, with false when there will be none.
    func write(_ part: IOData, of number: UInt64, _ writer: Deferred<Bool>)
}

/// An output that also accepts parts without suspending their writer.
protocol ResponseOffers: ResponseOutput {
    /// Whether the client reads fast enough that a writer would not wait.
    func hasRoom(for number: UInt64) -> Bool
    /// Writes a part for which there is room; returns whether there is room for another one.
    func write(_ part: ByteBuffer, of number: UInt64) -> Bool
}
