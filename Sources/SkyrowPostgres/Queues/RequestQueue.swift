/// The requests that wait, first in first out; those whose task gave up meanwhile are passed over.
struct RequestQueue {
    private var items: [PostgresRequest] = []
    private var head = 0

    /// How many wait, at most; the passed-over ones count until they are met.
    var count: Int { items.count - head }

    var isEmpty: Bool { count == 0 }

    mutating func append(_ request: PostgresRequest) {
        request.isQueued = true
        items.append(request)
    }

    /// Puts requests that were taken already before all others.
    mutating func prepend(_ requests: [PostgresRequest]) {
        guard !requests.isEmpty else { return }
        for request in requests { request.isQueued = true }
        items.replaceSubrange(..<head, with: requests)
        head = 0
    }

    /// The oldest request that a task still waits for, left in its place.
    mutating func peek() -> PostgresRequest? {
        while head < items.count {
            if !items[head].isFinished { return items[head] }
            _ = popFirst()
        }
        return nil
    }

    mutating func pop() -> PostgresRequest? {
        peek() == nil ? nil : popFirst()
    }

    /// Where the oldest request is that satisfies the condition.
    func place(where condition: (PostgresRequest) -> Bool) -> Int? {
        for place in head..<items.count where !items[place].isFinished && condition(items[place]) { return place }
        return nil
    }

    /// Takes out the request at a place; the others keep their order.
    mutating func remove(at place: Int) -> PostgresRequest {
        guard place > head else { return popFirst() }
        let request = items.remove(at: place)
        request.isQueued = false
        return request
    }

    /// Calls `body` with each waiting request in order until it returns false.
    func visit(while body: (PostgresRequest) -> Bool) {
        for request in items[head...] where !request.isFinished {
            guard body(request) else { return }
        }
    }

    /// Takes out all that satisfy the condition.
    mutating func removeAll(where condition: (PostgresRequest) -> Bool) -> [PostgresRequest] {
        var removed: [PostgresRequest] = []
        var kept: [PostgresRequest] = []
        for request in items[head...] {
            if condition(request) {
                request.isQueued = false
                removed.append(request)
            } else {
                kept.append(request)
            }
        }
        items = kept
        head = 0
        return removed
    }

    private mutating func popFirst() -> PostgresRequest {
        let request = items[head]
        request.isQueued = false
        head += 1
        // Moving the rest down once half is used up keeps both the cost per request and the memory bounded.
        if head == items.count {
            items.removeAll(keepingCapacity: true)
            head = 0
        } else if head >= 64, head * 2 >= items.count {
            items.removeFirst(head)
            head = 0
        }
        return request
    }
}
