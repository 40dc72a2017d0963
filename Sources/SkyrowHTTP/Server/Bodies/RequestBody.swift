package import NIOCore
import SkyrowConcurrency

/// How a route reads the body of a request, which it decides from the head alone.
package enum RequestBodyMode: Hashable, Sendable {
    /// The complete body. A body longer than `limit`, or than the server's limit for any body, is refused with 413.
    case collected(limit: Int? = nil)
    /// Parts as they arrive, with back-pressure while the route is slow. A body longer than `limit` in total is refused with 413.
    case streamed(limit: Int)
}

/// The body of a request.
package enum RequestBody: Sendable {
    case collected(ByteBuffer)
    case stream(RequestBodyStream)

    /// The collected body; empty for a streamed one.
    package var bytes: ByteBuffer {
        switch self {
        case .collected(let bytes): bytes
        case .stream: ByteBuffer()
        }
    }
}

/// The parts of a body as they arrive, for one reader.
///
/// ```swift
/// guard case .stream(let parts) = request.body else { return }
/// for try await part in parts { try file.write(part) }
/// ```
///
/// While `RequestLifecycle.window` bytes wait for the reader, nothing is read from the client. An incomplete body ends with an
/// `HTTPFault`, or with a `CancellationError` when the client has left or the deadline has passed.
package final class RequestBodyStream: AsyncSequence, Sendable {
    package typealias Element = ByteBuffer

    /// The next part; nil at the end.
    private typealias Next = Result<ByteBuffer?, any Error>

    /// Accessed only on the connection's event loop.
    private struct State {
        var parts = CircularBuffer<ByteBuffer>()
        var end: Next?
        var reader: Deferred<Next>?
        /// Called with the number of bytes that the reader has taken.
        var onTake: ((Int) -> Void)?
        /// Called when the reader waits for the next part.
        var onWait: (() -> Void)?
    }

    private let state: NIOLoopBoundBox<State>

    init(on eventLoop: any EventLoop) {
        state = .makeBoxSendingValue(State(), eventLoop: eventLoop)
    }

    package func makeAsyncIterator() -> Iterator { Iterator(stream: self) }

    package struct Iterator: AsyncIteratorProtocol {
        fileprivate let stream: RequestBodyStream

        package func next() async throws -> ByteBuffer? {
            try await stream.next()
        }
    }

    /// The next part; nil after the last. Throws when the rest of the body will not arrive.
    package func next() async throws -> ByteBuffer? {
        let reader = Deferred<Next>()
        onLoop { $0.take(for: reader) }
        return try await reader.value { _ in self.onLoop { $0.dismissReader() } }.get()
    }

    /// Takes further parts that have arrived, of at most `bytes` in total, without waiting; none away from the event loop.
    package func arrived(atMost bytes: Int) -> [ByteBuffer] {
        guard state.eventLoop.inEventLoop else { return [] }
        var taken: [ByteBuffer] = []
        var room = bytes
        while let part = state.value.parts.first, part.readableBytes <= room {
            taken.append(state.value.parts.removeFirst())
            room -= part.readableBytes
        }
        if !taken.isEmpty { state.value.onTake?(bytes - room) }
        return taken
    }

    private func onLoop(_ work: @escaping @Sendable (RequestBodyStream) -> Void) {
        let eventLoop = state.eventLoop
        if eventLoop.inEventLoop { work(self) } else { eventLoop.execute { work(self) } }
    }

    private func take(for reader: Deferred<Next>) {
        if let part = state.value.parts.popFirst() {
            state.value.onTake?(part.readableBytes)
            reader.settle(.success(part))
        } else if let end = state.value.end {
            reader.settle(end)
        } else {
            state.value.reader = reader
            state.value.onWait?()
        }
    }

    private func dismissReader() {
        state.value.reader.take()?.settle(.failure(CancellationError()))
    }

    // MARK: - Connection side

    func observe(onTake: @escaping (Int) -> Void, onWait: @escaping () -> Void) {
        state.value.onTake = onTake
        state.value.onWait = onWait
    }

    func push(_ part: ByteBuffer) {
        guard state.value.end == nil, part.readableBytes > 0 else { return }
        guard let reader = state.value.reader.take() else {
            state.value.parts.append(part)
            return
        }
        state.value.onTake?(part.readableBytes)
        reader.settle(.success(part))
    }

    func finish() {
        close(.success(nil))
    }

    /// Drops unread parts and ends the stream with the error.
    func fail(_ error: any Error) {
        state.value.parts.removeAll()
        state.value.onTake = nil
        state.value.onWait = nil
        if case .failure? = state.value.end { return }
        state.value.end = nil
        close(.failure(error))
    }

    private func close(_ end: Next) {
        guard state.value.end == nil else { return }
        state.value.end = end
        state.value.reader.take()?.settle(end)
    }
}
