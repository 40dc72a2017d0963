internal import CLibpq
internal import SkyrowConcurrency

/// The bytes of one message of a replication stream, shared by its tuples.
package final class ReplicationBuffer: Sendable {
    private let owned: OwnedPointer
    private let count: Int

    package var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: UnsafeRawPointer(owned.pointer), count: count)
    }

    /// Takes ownership of the result of PQgetCopyData.
    init(takingOver start: UnsafeMutablePointer<CChar>, count: Int) {
        owned = OwnedPointer(OpaquePointer(start)) { PQfreemem(UnsafeMutableRawPointer($0)) }
        self.count = count
    }

    /// Copies bytes, for tests and for data that is not from libpq.
    package init(_ copied: [UInt8]) {
        owned = OwnedPointer(allocating: copied.count, alignment: 1)
        UnsafeMutableRawPointer(owned.pointer).copyMemory(from: copied, byteCount: copied.count)
        count = copied.count
    }
}
