/// The waiting requests, first in first out; cancelled ones are skipped.
struct RequestQueue {
    private var items: [PostgresRequest] = []
    private var head = 0

    /// Upper bound on the number of waiting requests; cancelled ones count until they are skipped.
    var count: Int { items.count - head }

    var isEmpty: Bool { count == 0 }

    mutating func append(_ request: PostgresRequest) {
        request.isQueued = true
        items.append(request)
    }

    /// Puts requests that were already taken ahead of all others.
    mutating func prepend(_ requests: [PostgresRequest]) {
        guard !requests.isEmpty else { return }
        for request in requests { request.isQueued = true }
        items.replaceSubrange(..<head, with: requests)
        head = 0
    }

    /// The oldest request that is not cancelled; it stays in the queue.
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

    /// The index of the oldest request that satisfies the condition.
    func place(where condition: (PostgresRequest) -> Bool) -> Int? {
        for place in head..<items.count where !items[place].isFinished && condition(items[place]) { return place }
        return nil
    }

    /// Removes the request at an index; the others keep their order.
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

    /// Removes all requests that satisfy the condition.
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
        // Compacting once half of the array is unused keeps both the cost per request and the memory bounded.
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
