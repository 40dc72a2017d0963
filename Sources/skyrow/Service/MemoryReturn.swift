/// How the allocator gives memory back to the system.
enum MemoryReturn {
    /// glibc raises the size from which it maps memory apart, up to 32 MB, whenever such a piece is freed; long bodies and
    /// results then lie between short-lived objects on heaps that never shrink. A fixed size keeps them apart, so that
    /// what one long result took is given back at its end.
    static func begin() {
        _ = mallopt(mmapThreshold, 256 << 10)
        _ = mallopt(trimThreshold, 4 << 20)
    }

    /// `M_MMAP_THRESHOLD` and `M_TRIM_THRESHOLD` of malloc.h, which Swift's import of glibc leaves out.
    private static let mmapThreshold: CInt = -3
    private static let trimThreshold: CInt = -1
}

@_silgen_name("mallopt")
private func mallopt(_ parameter: CInt, _ value: CInt) -> CInt
