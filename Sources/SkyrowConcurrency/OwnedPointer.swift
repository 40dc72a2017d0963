/// Memory, or an object of a C library, that threads share and that is freed once, with its owner.
///
/// ```swift
/// private let key = OwnedPointer(EVP_PKEY_new(), freedBy: EVP_PKEY_free)
/// ```
///
/// `@unchecked Sendable`: what is kept here never changes once it is made, or has parts that are made to be shared, such as atomic
/// values, and a library documents that threads may read its objects together. The compiler lets no copy of the owner be made, so
/// there is one call of what frees it, after the last use.
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
    /// Memory that the owner frees.
    package init(allocating byteCount: Int, alignment: Int) {
        let memory = UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: alignment)
        self.init(OpaquePointer(memory)) { UnsafeMutableRawPointer($0)?.deallocate() }
    }
}
