internal import CLibpq
internal import SkyrowConcurrency

/// The bytes of one message of a replication stream, which its tuples share.
package final class ReplicationBuffer: Sendable {
    private let owned: OwnedPointer
    private let count: Int

    package var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: UnsafeRawPointer(owned.pointer), count: count)
    }

    /// Takes over what PQgetCopyData returned.
    init(takingOver start: UnsafeMutablePointer<CChar>, count: Int) {
        owned = OwnedPointer(OpaquePointer(start)) { PQfreemem(UnsafeMutableRawPointer($0)) }
        self.count = count
    }

    /// Copies bytes, for tests and for what did not come from libpq.
    package init(_ copied: [UInt8]) {
        owned = OwnedPointer(allocating: copied.count, alignment: 1)
        UnsafeMutableRawPointer(owned.pointer).copyMemory(from: copied, byteCount: copied.count)
        count = copied.count
    }
}
