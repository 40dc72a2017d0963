internal import Synchronization

/// A count of events in several tasks.
package final class Counter: Changing {
    private let count = Atomic<Int>(0)
    package let changes = ChangeSignal()

    package init() {}

    package var value: Int { count.load(ordering: .sequentiallyConsistent) }

    package func increment() {
        count.add(1, ordering: .sequentiallyConsistent)
        changes.notify()
    }
}
