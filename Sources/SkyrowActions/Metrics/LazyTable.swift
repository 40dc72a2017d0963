package import SkyrowConcurrency
package import SkyrowModel

/// A fixed number of objects, each made when it is first asked for and found without a lock from then on.
package final class LazyTable<Element: AnyObject & Sendable>: Sendable {
    @usableFromInline let slots: SharedArray<SharedReference<Element>>
    @usableFromInline let make: @Sendable (Int) -> Element

    /// - Parameter make: may run more than once for a place when threads meet there; one of the objects stays.
    package init(count: Int, _ make: @escaping @Sendable (Int) -> Element) {
        self.make = make
        slots = SharedArray(count: count) { _ in SharedReference() }
    }

    @inlinable
    package subscript(index: Int) -> Element {
        slots[index].load() ?? slots[index].storeIfNil(make(index))
    }
}
