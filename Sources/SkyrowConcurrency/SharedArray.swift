/// A fixed number of elements that threads share, each at a stable address for the lifetime of the array.
///
/// An `Array` cannot hold atomic values, and reading it counts references, which costs more than the read itself where several
/// threads read the same array.
///
/// ```swift
/// let counts = SharedArray<Atomic<Int>>(count: 8) { _ in Atomic(0) }
/// counts[3].wrappingAdd(1, ordering: .relaxed)
/// ```
package final class SharedArray<Element: ~Copyable & Sendable>: Sendable {
    @usableFromInline package let owned: OwnedPointer
    package let count: Int

    package init(count: Int, _ make: (Int) -> Element) {
        self.count = count
        let layout = MemoryLayout<Element>.self
        owned = OwnedPointer(allocating: max(1, count) * layout.stride, alignment: layout.alignment)
        for index in 0..<count { (elements + index).initialize(to: make(index)) }
    }

    deinit {
        elements.deinitialize(count: count)
    }

    @inlinable package var elements: UnsafeMutablePointer<Element> { UnsafeMutablePointer(owned.pointer) }

    package subscript(index: Int) -> Element {
        @inlinable unsafeAddress {
            precondition(index >= 0 && index < count, "There is no element at this index.")
            return UnsafePointer(elements + index)
        }
    }
}

extension SharedArray {
    /// Copies the elements of a collection.
    package convenience init(_ elements: some Collection<Element>) {
        var rest = elements.makeIterator()
        self.init(count: elements.count) { _ in
            guard let next = rest.next() else { preconditionFailure("The collection is shorter than its count.") }
            return next
        }
    }

    /// The elements, valid for the lifetime of the array.
    package var buffer: UnsafeBufferPointer<Element> { UnsafeBufferPointer(start: elements, count: count) }
}
