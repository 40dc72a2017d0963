import NIOCore

/// The read buffers of a connection: one buffer is kept, which suffices for most
/// requests; a larger one is used for a single read.
///
/// SwiftNIO itself keeps its last buffers at their largest size: up to 256 KB for a client that has sent one large body and
/// nothing since. This allocator requires channels that read one message at a time (`ChannelOptions.maxMessagesPerRead`).
struct ReadBuffers: RecvByteBufferAllocator {
    static let keptSize = 2048

    /// Adapts the sizes to the input.
    private var sizes = AdaptiveRecvByteBufferAllocator(minimum: keptSize / 2, initial: keptSize, maximum: 64 * 1024)

    func buffer(allocator: ByteBufferAllocator) -> ByteBuffer {
        sizes.buffer(allocator: allocator)
    }

    /// The size of a buffer that may be kept; nil for a larger one, which is allocated each time.
    func nextBufferSize() -> Int? {
        sizes.nextBufferSize().flatMap { $0 <= Self.keptSize ? $0 : nil }
    }

    /// Always returns that the size may change: otherwise the channel would not ask for the next size and use the kept buffer.
    mutating func record(actualReadBytes: Int) -> Bool {
        _ = sizes.record(actualReadBytes: actualReadBytes)
        return true
    }
}
