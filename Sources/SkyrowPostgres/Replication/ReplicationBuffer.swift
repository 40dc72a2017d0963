internal import CLibpq

/// The bytes of one message of a replication stream, which its tuples share.
///
/// `@unchecked Sendable`: the bytes never change, and are freed once, when the last reference is gone.
package final class ReplicationBuffer: @unchecked Sendable {
    package let bytes: UnsafeRawBufferPointer
    private let isOfLibpq: Bool

    /// Takes over what PQgetCopyData returned.
    init(takingOver start: UnsafeMutablePointer<CChar>, count: Int) {
        bytes = UnsafeRawBufferPointer(start: start, count: count)
        isOfLibpq = true
    }

    /// Copies bytes, for tests and for what did not come from libpq.
    package init(_ copied: [UInt8]) {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: copied.count, alignment: 1)
        memory.copyBytes(from: copied)
        bytes = UnsafeRawBufferPointer(memory)
        isOfLibpq = false
    }

    deinit {
        if isOfLibpq {
            PQfreemem(UnsafeMutableRawPointer(mutating: bytes.baseAddress))
        } else {
            bytes.deallocate()
        }
    }
}
