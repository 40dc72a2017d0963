import Testing

@testable import SkyrowModel

@Suite struct SharedReferenceTests {
    private final class Object: Sendable {}

    private final class Holder: Sendable {
        let reference = SharedReference<Object>()
    }

    @Test func theFirstObjectStays() {
        let reference = SharedReference<Object>()
        #expect(reference.load() == nil)
        let first = Object()
        #expect(reference.storeIfNil(first) === first)
        #expect(reference.storeIfNil(Object()) === first)
        #expect(reference.load() === first)
    }

    @Test func threadsThatMeetGetTheSameObject() async {
        for _ in 0..<200 {
            let holder = Holder()
            let found = await withTaskGroup(of: Object.self, returning: [Object].self) { group in
                for _ in 0..<4 {
                    group.addTask { holder.reference.load() ?? holder.reference.storeIfNil(Object()) }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(found.allSatisfy { $0 === found[0] })
        }
    }

    @Test func objectsAreFreed() {
        weak var kept: Object?
        weak var other: Object?
        do {
            let reference = SharedReference<Object>()
            let objects = (Object(), Object())
            (kept, other) = (objects.0, objects.1)
            _ = reference.storeIfNil(objects.0)
            _ = reference.storeIfNil(objects.1)
        }
        #expect(kept == nil && other == nil)
    }

    /// The place keeps its object, and no other one.
    @Test func theObjectIsKept() {
        let reference = SharedReference<Object>()
        weak var kept: Object?
        weak var other: Object?
        do {
            let objects = (Object(), Object())
            (kept, other) = (objects.0, objects.1)
            _ = reference.storeIfNil(objects.0)
            _ = reference.storeIfNil(objects.1)
        }
        #expect(kept != nil && other == nil)
        _ = reference.load()
    }
}
