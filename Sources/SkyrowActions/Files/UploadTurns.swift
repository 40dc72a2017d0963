import SkyrowConcurrency
import SkyrowModel
import Synchronization

/// Which request of an upload runs, and which one waits for its end, within this process.
///
/// A newer request takes the place of an older one: it has the running one end, and a third request sends the waiting one away. So an
/// upload has at most two requests, and a connection that is gone holds nothing.
///
/// ```swift
/// let (first, _) = turns.enter(upload)        // runs
/// let (second, entry) = turns.enter(upload)   // .waits(behind: first, displaced: nil)
/// turns.leave(upload, first)                  // second, which runs now
/// ```
struct UploadTurns: Sendable {
    enum Entry: Hashable, Sendable {
        case runs
        /// - Parameters:
        ///   - behind: the running request, which must end.
        ///   - displaced: the request that waited before, and does not run.
        case waits(behind: Int, displaced: Int?)
    }

    private struct Line {
        var running: Int
        var next: Int?
    }

    private var lines: [UploadID: Line] = [:]
    private var last = 0

    var isUnused: Bool { lines.isEmpty }

    /// Adds a request; returns its number.
    mutating func enter(_ id: UploadID) -> (number: Int, entry: Entry) {
        last += 1
        guard let line = lines[id] else {
            lines[id] = Line(running: last)
            return (last, .runs)
        }
        lines[id]?.next = last
        return (last, .waits(behind: line.running, displaced: line.next))
    }

    /// Removes a request that waits; false if it does not wait any more.
    mutating func withdraw(_ number: Int, from id: UploadID) -> Bool {
        guard lines[id]?.next == number else { return false }
        lines[id]?.next = nil
        return true
    }

    /// Ends the running request; returns the one that runs now.
    mutating func leave(_ id: UploadID) -> Int? {
        guard let next = lines[id]?.next else {
            lines[id] = nil
            return nil
        }
        lines[id] = Line(running: next)
        return next
    }
}

/// The turn of a request to write an upload, within this process.
final class UploadTurn: Sendable {
    let id: UploadID
    fileprivate let number: Int
    /// Whether the request runs; arrives when it is known.
    fileprivate let start = Deferred<Bool>()
    /// Arrives when a newer request waits for the end of this one.
    let interruption = Deferred<Void>()

    fileprivate init(_ id: UploadID, _ number: Int) {
        self.id = id
        self.number = number
    }
}

/// Lets one request after the other write an upload, within this process.
final class UploadLine: Sendable {
    private struct State {
        var turns = UploadTurns()
        var entered: [Int: UploadTurn] = [:]
    }

    private let state = Mutex(State())

    var isUnused: Bool { state.withLock { $0.turns.isUnused && $0.entered.isEmpty } }

    /// Has older requests of the upload end, and waits for that; returns nil if it takes too long, if another request comes, and in a
    /// cancelled task.
    ///
    /// - Parameter sleep: Sleeps for the longest time to wait.
    func enter(_ id: UploadID, sleep: @escaping @Sendable () async throws -> Void) async -> UploadTurn? {
        let (turn, older, displaced) = state.withLock { state -> Entered in
            let (number, entry) = state.turns.enter(id)
            let turn = UploadTurn(id, number)
            state.entered[number] = turn
            guard case .waits(let behind, let displaced) = entry else { return (turn, nil, nil) }
            return (turn, state.entered[behind], displaced.flatMap { state.entered.removeValue(forKey: $0) })
        }
        displaced?.start.settle(false)
        guard let older else { return turn }
        older.interruption.settle()
        let runs = await turn.start.value(during: sleep) { [self] _ in
            let isWaiting = state.withLock { state in
                guard state.turns.withdraw(turn.number, from: id) else { return false }
                state.entered[turn.number] = nil
                return true
            }
            // Otherwise another task settles it.
            if isWaiting { turn.start.settle(false) }
        }
        return runs ? turn : nil
    }

    private typealias Entered = (turn: UploadTurn, older: UploadTurn?, displaced: UploadTurn?)

    /// Ends the running request of an upload.
    func leave(_ turn: UploadTurn) {
        let next = state.withLock { state -> UploadTurn? in
            state.entered[turn.number] = nil
            return state.turns.leave(turn.id).flatMap { state.entered[$0] }
        }
        next?.start.settle(true)
    }
}
