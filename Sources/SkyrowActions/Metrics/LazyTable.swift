import Synchronization

/// A fixed number of objects, each made when it is first asked for and found without a lock from then on.
///
/// `@unchecked Sendable`: `slots` is set once and freed at the end, and each slot is atomic.
package final class LazyTable<Element: AnyObject & Sendable>: @unchecked Sendable {
    private let slots: UnsafeMutablePointer<AtomicLazyReference<Element>>
    private let count: Int
    private let make: @Sendable (Int) -> Element

    /// - Parameter make: may run more than once for a place when threads meet there; one of the objects stays.
    package init(count: Int, _ make: @escaping @Sendable (Int) -> Element) {
        self.count = count
        self.make = make
        slots = .allocate(capacity: count)
        for index in 0..<count { (slots + index).initialize(to: AtomicLazyReference()) }
    }

    deinit {
        slots.deinitialize(count: count)
        slots.deallocate()
    }

    package subscript(index: Int) -> Element {
        precondition((0..<count).contains(index))
        return slots[index].load() ?? slots[index].storeIfNil(make(index))
    }
}
