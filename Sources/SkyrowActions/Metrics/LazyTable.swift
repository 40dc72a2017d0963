package import SkyrowConcurrency
package import SkyrowModel

/// A fixed number of objects, each created at its first use and found without a lock afterwards.
package final class LazyTable<Element: AnyObject & Sendable>: Sendable {
    @usableFromInline let slots: SharedArray<SharedReference<Element>>
    @usableFromInline let make: @Sendable (Int) -> Element

    /// - Parameter make: may run more than once for an index when threads race; one of the objects is kept.
    package init(count: Int, _ make: @escaping @Sendable (Int) -> Element) {
        self.make = make
        slots = SharedArray(count: count) { _ in SharedReference() }
    }

    @inlinable
    package subscript(index: Int) -> Element {
        slots[index].load() ?? slots[index].storeIfNil(make(index))
    }
}
