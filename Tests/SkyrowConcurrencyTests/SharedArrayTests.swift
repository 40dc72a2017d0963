import Synchronization
import Testing

@testable import SkyrowConcurrency

@Suite struct SharedArrayTests {
    @Test(arguments: [[], [7], [1, 2, 3]]) func elementsAreThoseOfTheCollection(elements: [Int]) {
        let array = SharedArray(elements)
        #expect(array.count == elements.count)
        #expect(elements.indices.map { array[$0] } == elements)
        #expect(Array(array.buffer) == elements)
    }

    @Test func threadsShareAtomicElements() async {
        let counts = SharedArray<Atomic<Int>>(count: 3) { Atomic($0) }
        await withTaskGroup { group in
            for index in 0..<300 {
                group.addTask { counts[index % 3].wrappingAdd(1, ordering: .relaxed) }
            }
        }
        #expect((0..<3).map { counts[$0].load(ordering: .relaxed) } == [100, 101, 102])
    }

    @Test func elementsAreFreedWithTheArray() {
        final class Element: Sendable {}
        weak var element: Element?
        do {
            let array = SharedArray(count: 2) { _ in Element() }
            element = array[1]
            #expect(element != nil)
        }
        #expect(element == nil)
    }
}
