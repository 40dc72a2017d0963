package import Synchronization

/// A place for one object that threads share: empty at first, filled once, and read without a lock.
///
/// The standard library's `AtomicLazyReference` is the same, but looks up the metadata of a generic type each time it is
/// read, which takes longer than all else that is done with what is read.
///
/// ```swift
/// let reference = SharedReference<Counter>()
/// let counter = reference.load() ?? reference.storeIfNil(Counter())
/// ```
package struct SharedReference<Object: AnyObject & Sendable>: ~Copyable, Sendable {
    /// The object's address, with one count of its references; 0 for none.
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

    /// Keeps the object if there is none yet, and returns the one that is kept.
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
