import NIOCore

/// Memory for what a connection reads: each read has its own, and a connection that is idle keeps that of its first one alone.
///
/// Otherwise SwiftNIO keeps the last ones for the next reads, as large as they were needed once: up to 256 KB for a client that has
/// sent a large body and nothing since. It counts with channels that read one message at a time
/// (`ChannelOptions.maxMessagesPerRead`).
struct ReadBuffers: RecvByteBufferAllocator {
    /// The sizes follow what comes; the first is one that most requests fit into.
    private var sizes = AdaptiveRecvByteBufferAllocator(minimum: 1024, initial: 2048, maximum: 64 * 1024)

    func buffer(allocator: ByteBufferAllocator) -> ByteBuffer {
        sizes.buffer(allocator: allocator)
    }

    /// Says that the next read may need more, whatever came: a buffer that is kept would not do then.
    mutating func record(actualReadBytes: Int) -> Bool {
        _ = sizes.record(actualReadBytes: actualReadBytes)
        return true
    }

    /// nil: with a size the channel would keep the buffers of that size.
    func nextBufferSize() -> Int? { nil }
}
