package import SkyrowModel
import SkyrowStore
import Synchronization

/// The sessions of connections that stay open, so that these end with them although nothing is asked over them.
///
/// A connection with live queries is ended by the look at their rights (``LiveDispatcher``) as well.
final class HeldSessions: Sendable {
    /// The look at sessions of which no notice comes, as where one expires or a pooler swallows notices.
    static let interval: Duration = .seconds(30)
    /// Sessions of one statement.
    static let chunk = 500

    private struct Held {
        let user: UserID?
        var closures: [UInt64: @Sendable () -> Void] = [:]
    }

    private struct State {
        var held: [TokenHash: Held] = [:]
        var tokens: [UserID: Set<TokenHash>] = [:]
        /// Those that are to be looked at.
        var doubtful: Set<TokenHash> = []
        var lastNumber: UInt64 = 0
    }

    private let state = Mutex(State())
    private let signals = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

    /// Notes that a connection has a session, until the result is called.
    func hold(_ credentials: Credentials, of user: UserID?, close: @escaping @Sendable () -> Void)
        -> @Sendable () -> Void
    {
        guard let hash = credentials.tokenHash else { return {} }
        let number = state.withLock { state in
            state.lastNumber += 1
            state.held[hash, default: Held(user: user)].closures[state.lastNumber] = close
            if let user { state.tokens[user, default: []].insert(hash) }
            // It may have ended since it was looked at.
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

    /// Has the sessions be looked at that a notice may be about.
    func doubt(_ notice: SessionNotice) {
        let isHeld = state.withLock { state in
            switch notice {
            case .token(let bytes):
                if let hash = TokenHash(bytes: bytes), state.held[hash] != nil { state.doubtful.insert(hash) }
            case .user(let user):
                state.doubtful.formUnion(state.tokens[user] ?? [])
            case .listening, .all:
                state.doubtful = Set(state.held.keys)
            case .keys:
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
                // Until the next notice or look.
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

    /// Ends the connections of sessions that are gone; false where that could not be found out.
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
    /// Notes that a connection which stays open has the session of the credentials; the result ends that.
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
