import NIOCore
import SkyrowTestSupport
import Testing

@testable import SkyrowHTTP

/// What a channel keeps of the memory that it read into.
@Suite struct ReadBuffersTests {
    /// Reads messages as a channel does, and keeps the last ones as a request keeps its body; returns the sizes of their buffers.
    private func read(_ lengths: [Int], into pool: inout NIOPooledRecvBufferAllocator) -> [Int] {
        var kept: [ByteBuffer] = []
        var sizes: [Int] = []
        for length in lengths {
            let (buffer, count) = pool.buffer(allocator: ByteBufferAllocator()) { buffer in
                let count = min(length, buffer.writableBytes)
                return buffer.writeRepeatingByte(7, count: count)
            }
            pool.record(actualReadBytes: count)
            sizes.append(buffer.capacity)
            kept = kept.suffix(3) + [buffer]
        }
        return sizes
    }

    @Test func aConnectionKeepsOneSmallBuffer() {
        var pool = NIOPooledRecvBufferAllocator(capacity: 1, recvAllocator: ReadBuffers())
        let sizes = read(Array(repeating: 1_000_000, count: 12), into: &pool)
        // They grow with what comes.
        #expect(sizes.first == 2048 && sizes.last == 65_536 && sizes == sizes.sorted())
        // Then little comes. What is read into the buffer that is kept shows its size.
        _ = read(Array(repeating: 100, count: 20), into: &pool)
        #expect(pool.count == 1)
        let (kept, _) = pool.buffer(allocator: ByteBufferAllocator()) { _ in }
        #expect(kept.capacity == 2048)
    }

    @Test func aRequestThatIsDoneLeavesItsBufferToTheNextOne() {
        var pool = NIOPooledRecvBufferAllocator(capacity: 1, recvAllocator: ReadBuffers())
        var storages: Set<UnsafeRawPointer> = []
        for _ in 0..<20 {
            let (buffer, count) = pool.buffer(allocator: ByteBufferAllocator()) { $0.writeRepeatingByte(7, count: 300) }
            pool.record(actualReadBytes: count)
            buffer.withUnsafeReadableBytes { bytes in
                if let base = bytes.baseAddress { storages.insert(base) }
            }
        }
        #expect(storages.count == 1)
    }

    @Test func whatIsKeptStaysAsItWasRead() {
        var pool = NIOPooledRecvBufferAllocator(capacity: 1, recvAllocator: ReadBuffers())
        var buffers: [ByteBuffer] = []
        for byte in UInt8(0)..<100 {
            let (buffer, count) = pool.buffer(allocator: ByteBufferAllocator()) { buffer in
                buffer.writeRepeatingByte(byte, count: buffer.writableBytes)
            }
            pool.record(actualReadBytes: count)
            buffers.append(buffer)
        }
        for (byte, buffer) in buffers.enumerated() {
            #expect(buffer.readableBytesView.allSatisfy { $0 == UInt8(byte) })
        }
    }
}
