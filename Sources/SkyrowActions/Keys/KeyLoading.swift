import SkyrowModel
import SkyrowStore
import Synchronization

/// When the keys with scopes were last known to be those of the database.
struct KeyKnowledge: Sendable {
    /// nil: something has changed since, or they were never read.
    var knownAt: ContinuousClock.Instant?
    /// Counts what was heard of changes.
    var epoch = 0
    /// The reading that goes on.
    var loading: Task<Result<Void, SkyrowError>, Never>?
}

extension ActionService {
    /// Whether the database has to be asked before a key can be judged: when it looks like one with scopes, and it is not
    /// known to the second which ones there are.
    func needsKeys(for credentials: Credentials) -> Bool {
        guard let text = credentials.key, KeyText.isLikely(text) else { return false }
        if let knownAt = keyKnowledge.withLock({ $0.knownAt }), clock.instant() - knownAt <= keyFreshness {
            return false
        }
        return KeyText(text) != nil
    }

    /// As long as a session counts that is remembered, and no longer than a second: a revoked key ends by then, whatever was
    /// heard of it.
    private var keyFreshness: Duration { min(configuration.sessionFreshness, .seconds(1)) }

    /// Something has changed, or may have.
    func forgetKeys() {
        keyKnowledge.withLock {
            $0.knownAt = nil
            $0.epoch += 1
        }
    }

    /// Finds out which keys with scopes there are, once for all requests that wait for it.
    ///
    /// Throws what the database failed with: which keys hold is not known then.
    func refreshKeys() async throws(SkyrowError) {
        let task = keyKnowledge.withLock { knowledge in
            if let task = knowledge.loading { return task }
            let task = Task {
                let outcome = await self.outcomeOfLoadingKeys()
                self.keyKnowledge.withLock { $0.loading = nil }
                return outcome
            }
            knowledge.loading = task
            return task
        }
        try await task.value.get()
    }

    private func outcomeOfLoadingKeys() async -> Result<Void, SkyrowError> {
        do throws(SkyrowError) {
            try await loadKeys()
            return .success(())
        } catch {
            return .failure(error)
        }
    }

    /// Reads the keys again where their number says that they have changed.
    func loadKeys() async throws(SkyrowError) {
        let start = clock.instant()
        let epoch = keyKnowledge.withLock { $0.epoch }
        let version = try await store.keys.version()
        if version != keys.held.version {
            let (records, version) = try await store.keys.all()
            currentKeys.withLock { current in
                // Of two readings the later one counts.
                if let known = current.held.version, known > version { return }
                current = current.holding(HeldKeys(records, version: version, after: current.held))
            }
        }
        keyKnowledge.withLock { knowledge in
            if knowledge.epoch == epoch { knowledge.knownAt = start }
        }
    }
}
