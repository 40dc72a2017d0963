import SkyrowConcurrency
import SkyrowModel
import Synchronization

/// What hooks hold in this process.
final class HookState: Sendable {
    /// Upper bound on asynchronous calls at once.
    static let maximumAsyncCalls = 256

    let turns = RecordTurns()
    private let asyncCalls = Atomic(0)

    /// Counts an asynchronous call; returns false when there are too many.
    func beginAsyncCall() -> Bool {
        let before = asyncCalls.add(1, ordering: .relaxed).oldValue
        guard before >= Self.maximumAsyncCalls else { return true }
        endAsyncCall()
        return false
    }

    func endAsyncCall() {
        asyncCalls.subtract(1, ordering: .relaxed)
    }
}

/// The turns of hooked records: of requests in this process that change one record, each sees what the one before has written.
///
/// Without turns, all but one of them would run their hooks in vain.
final class RecordTurns: Sendable {
    struct Key: Hashable, Comparable, Sendable {
        let database: DatabaseScope
        let id: RecordID

        static func < (a: Key, b: Key) -> Bool {
            RecordID.precedes(a.id, b.id)
        }
    }

    /// Upper bound on the requests that wait for one record.
    static let maximumWaiting = 1024

    /// A held turn has a line, in which each waiter gets true when the turn is its own.
    private let lines = Mutex<[Key: WaiterLine<Deferred<Bool>>]>([:])

    /// Waits for the turns of all keys, in the same order in every request, so that no two wait for each other.
    ///
    /// Throws `135 Overloaded` if too many requests wait, and `122 ResponseTimeout` if the task is cancelled; no turn is held then.
    func enter(_ keys: Set<Key>) async throws(SkyrowError) {
        var held: [Key] = []
        for key in keys.sorted() {
            do throws(SkyrowError) {
                try await enter(key)
                held.append(key)
            } catch {
                leave(held)
                throw error
            }
        }
    }

    private func enter(_ key: Key) async throws(SkyrowError) {
        typealias Place = (ticket: WaiterLine<Deferred<Bool>>.Ticket, waiter: Deferred<Bool>)
        let place = try lines.withLock { lines throws(SkyrowError) -> Place? in
            guard let line = lines[key] else {
                lines[key] = WaiterLine()
                return nil
            }
            guard line.count < Self.maximumWaiting else { throw .tooManyWait }
            let waiter = Deferred<Bool>()
            return (lines[key, default: WaiterLine()].enter(waiter), waiter)
        }
        guard let (ticket, waiter) = place else { return }
        let isAdmitted = await waiter.value { _ in self.lines.withLock { $0[key]?.leave(ticket) }?.settle(false) }
        guard isAdmitted else { throw .responseTimedOut }
    }

    /// Ends turns, and begins the next ones.
    func leave(_ keys: some Sequence<Key>) {
        for key in keys {
            let next = lines.withLock { lines in
                let next = lines[key]?.serve()
                if next == nil { lines[key] = nil }
                return next
            }
            next?.settle(true)
        }
    }
}

extension SkyrowError {
    fileprivate static let tooManyWait = SkyrowError(
        .overloaded,
        "Too many requests change this record at once; try again in a moment."
    )
}
