/// A value that is kept outside of the table that it stands in.
///
/// A table of hashes has up to two and a half times as many places as values, each as large as one. With 100,000 subscriptions of 700
/// bytes most of the memory would be empty places.
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
        // In place, so that a question about one member copies no others.
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

// Storage that two values share is never changed, so it is as good as its value.
extension Boxed: @unchecked Sendable where Value: Sendable {}
