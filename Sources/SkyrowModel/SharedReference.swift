package import Synchronization

/// A reference to one object that threads share: empty at first, set once, and read without a lock.
///
/// The standard library's `AtomicLazyReference` does the same, but looks up the metadata of a generic type on each read, which
/// takes longer than all other work on the object.
///
/// ```swift
/// let reference = SharedReference<Counter>()
/// let counter = reference.load() ?? reference.storeIfNil(Counter())
/// ```
package struct SharedReference<Object: AnyObject & Sendable>: ~Copyable, Sendable {
    /// The object's address, with one retained reference; 0 without an object.
    @usableFromInline let address = Atomic<UInt>(0)

    package init() {}

    deinit {
        guard let place = UnsafeRawPointer(bitPattern: address.load(ordering: .acquiring)) else { return }
        Unmanaged<Object>.fromOpaque(place).release()
    }

    @inlinable
    package func load() -> Object? {
        guard let place = UnsafeRawPointer(bitPattern: address.load(ordering: .acquiring)) else { return nil }
        return Unmanaged<Object>.fromOpaque(place).takeUnretainedValue()
    }

    /// Stores the object if the reference is empty, and returns the stored object.
    package func storeIfNil(_ object: Object) -> Object {
        let new = Unmanaged.passRetained(object)
        let (isStored, first) = address.compareExchange(
            expected: 0,
            desired: UInt(bitPattern: new.toOpaque()),
            ordering: .acquiringAndReleasing
        )
        guard !isStored, let known = UnsafeRawPointer(bitPattern: first) else { return object }
        new.release()
        return Unmanaged<Object>.fromOpaque(known).takeUnretainedValue()
    }
}
