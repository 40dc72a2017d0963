/// Memory, or an object of a C library, that threads share and that its owner frees once.
///
/// ```swift
/// private let key = OwnedPointer(EVP_PKEY_new(), freedBy: EVP_PKEY_free)
/// ```
///
/// `@unchecked Sendable`: the content never changes after creation, or consists of parts made for sharing, such as atomic values;
/// for objects of a library, the library documents that several threads may read them. The owner cannot be copied, so the free
/// function is called once, after the last use.
package struct OwnedPointer: ~Copyable, @unchecked Sendable {
    package let pointer: OpaquePointer
    private let free: @convention(c) (OpaquePointer?) -> Void

    package init(_ pointer: OpaquePointer, freedBy free: @convention(c) (OpaquePointer?) -> Void) {
        self.pointer = pointer
        self.free = free
    }

    deinit {
        free(pointer)
    }
}

extension OwnedPointer {
    /// Allocates memory that the owner frees.
    package init(allocating byteCount: Int, alignment: Int) {
        let memory = UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: alignment)
        self.init(OpaquePointer(memory)) { UnsafeMutableRawPointer($0)?.deallocate() }
    }
}
