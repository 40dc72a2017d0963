/// A value stored out of line, behind one reference.
///
/// A hash table allocates up to two and a half times as many slots as it has values, each the size of a value. With 100,000
/// subscriptions of 700 bytes, most of the memory would be empty slots.
///
/// ```swift
/// var subscribers: [Int: Boxed<LiveSubscriber>] = [:]
/// subscribers[7]?.state = .paused
/// ```
@dynamicMemberLookup
struct Boxed<Value> {
    private final class Storage {
        var value: Value

        init(_ value: Value) {
            self.value = value
        }
    }

    private var storage: Storage

    init(_ value: Value) {
        storage = Storage(value)
    }

    var value: Value {
        // Yields in place, so that access to one member copies no others.
        _read { yield storage.value }
        _modify {
            if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.value) }
            yield &storage.value
        }
    }

    subscript<Member>(dynamicMember member: KeyPath<Value, Member>) -> Member {
        storage.value[keyPath: member]
    }

    subscript<Member>(dynamicMember member: WritableKeyPath<Value, Member>) -> Member {
        get { storage.value[keyPath: member] }
        _modify { yield &value[keyPath: member] }
    }
}

// Shared storage is never mutated (`_modify` copies it first), so it is as safe as its value.
extension Boxed: @unchecked Sendable where Value: Sendable {}
