package import SkyrowModel
import SkyrowStore
import Synchronization

/// The sessions of open connections, so that a connection ends with its session even without requests.
///
/// The check of rights (``LiveDispatcher``) also ends connections with live queries.
final class HeldSessions: Sendable {
    /// The interval of checks of sessions without a notification, as when one expires or a pooler swallows notifications.
    static let interval: Duration = .seconds(30)
    /// The number of sessions in one statement.
    static let chunk = 500

    private struct Held {
        let user: UserID?
        var closures: [UInt64: @Sendable () -> Void] = [:]
    }

    private struct State {
        var held: [TokenHash: Held] = [:]
        var tokens: [UserID: Set<TokenHash>] = [:]
        /// The sessions to check.
        var doubtful: Set<TokenHash> = []
        var lastNumber: UInt64 = 0
    }

    private let state = Mutex(State())
    private let signals = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

    /// Registers a connection with a session; calling the result unregisters it.
    func hold(_ credentials: Credentials, of user: UserID?, close: @escaping @Sendable () -> Void)
        -> @Sendable () -> Void
    {
        guard let hash = credentials.tokenHash else { return {} }
        let number = state.withLock { state in
            state.lastNumber += 1
            state.held[hash, default: Held(user: user)].closures[state.lastNumber] = close
            if let user { state.tokens[user, default: []].insert(hash) }
            // The session may have ended since it was checked.
            state.doubtful.insert(hash)
            return state.lastNumber
        }
        signals.continuation.yield()
        return { [weak self] in self?.release(number, of: hash) }
    }

    private func release(_ number: UInt64, of hash: TokenHash) {
        state.withLock { state in
            state.held[hash]?.closures[number] = nil
            guard let held = state.held[hash], held.closures.isEmpty else { return }
            state.held[hash] = nil
            state.doubtful.remove(hash)
            guard let user = held.user else { return }
            state.tokens[user]?.remove(hash)
            if state.tokens[user]?.isEmpty == true { state.tokens[user] = nil }
        }
    }

    /// Requests a check of the sessions that a notification may be about.
    func doubt(_ notice: SessionNotice) {
        let isHeld = state.withLock { state in
            switch notice {
            case .token(let bytes):
                if let hash = TokenHash(bytes: bytes), state.held[hash] != nil { state.doubtful.insert(hash) }
            case .user(let user):
                state.doubtful.formUnion(state.tokens[user] ?? [])
            case .listening, .all:
                state.doubtful = Set(state.held.keys)
            case .keys, .files, .functions:
                break
            }
            return !state.doubtful.isEmpty
        }
        if isHeld { signals.continuation.yield() }
    }

    /// Ends connections whose sessions have ended, until the task is cancelled.
    func run(_ service: ActionService) async {
        let timer = Task {
            while (try? await service.clock.sleep(Self.interval)) != nil { doubt(.all) }
        }
        defer { timer.cancel() }
        for await _ in signals.stream {
            while let next = take() {
                guard await !look(at: next, service.store.sessions) else { continue }
                // The next notification or interval repeats the check.
                break
            }
        }
    }

    private func take() -> [TokenHash]? {
        state.withLock { state in
            let hashes = Array(state.doubtful.prefix(Self.chunk))
            state.doubtful.subtract(hashes)
            return hashes.isEmpty ? nil : hashes
        }
    }

    /// Ends the connections of sessions that are gone; returns false if the query failed.
    private func look(at hashes: [TokenHash], _ sessions: SessionTable) async -> Bool {
        do throws(SkyrowError) {
            let open = Set(try await sessions.open(of: hashes.map(\.bytes)))
            for hash in hashes where !open.contains(hash.bytes) {
                let closures = state.withLock { state in state.held[hash].map { Array($0.closures.values) } ?? [] }
                for close in closures { close() }
            }
            return true
        } catch {
            state.withLock { state in state.doubtful.formUnion(hashes.filter { state.held[$0] != nil }) }
            return false
        }
    }
}

extension ActionService {
    /// Registers an open connection with the session of the credentials; calling the result unregisters it.
    ///
    /// - Parameter close: called when the session has ended.
    package func holdSession(
        of credentials: Credentials,
        by user: UserID?,
        close: @escaping @Sendable () -> Void
    ) -> @Sendable () -> Void {
        heldSessions.hold(credentials, of: user, close: close)
    }
}
