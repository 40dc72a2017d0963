import NIOCore

/// Memory for what a connection reads: it keeps one buffer, which most requests fit into, and a larger one is for one read alone.
///
/// Otherwise SwiftNIO keeps the last ones for the next reads, as large as they were needed once: up to 256 KB for a client that has
/// sent a large body and nothing since. It counts with channels that read one message at a time
/// (`ChannelOptions.maxMessagesPerRead`).
struct ReadBuffers: RecvByteBufferAllocator {
    /// The size of the buffer that is kept.
    static let keptSize = 2048

    /// The sizes follow what comes.
    private var sizes = AdaptiveRecvByteBufferAllocator(
        minimum: keptSize / 2,
        initial: keptSize,
        maximum: 64 * 1024
    )

    func buffer(allocator: ByteBufferAllocator) -> ByteBuffer {
        sizes.buffer(allocator: allocator)
    }

    /// The size of a buffer that may be kept; nil for a larger one, which is made each time.
    func nextBufferSize() -> Int? {
        sizes.nextBufferSize().flatMap { $0 <= Self.keptSize ? $0 : nil }
    }

    /// Says that the next read may need more, whatever came: without a size the channel would use the one that it keeps.
    mutating func record(actualReadBytes: Int) -> Bool {
        _ = sizes.record(actualReadBytes: actualReadBytes)
        return true
    }
}
