import SkyrowModel
import SkyrowStore
import Synchronization

/// How recently the cached keys with scopes were compared with the database.
struct KeyKnowledge: Sendable {
    /// nil after a change, and before they were read.
    var knownAt: ContinuousClock.Instant?
    /// Counts notifications of changes.
    var epoch = 0
    /// The reload in progress.
    var loading: Task<Result<Void, SkyrowError>, Never>?
}

extension ActionService {
    /// Returns whether the keys have to be read before a key can be checked: it looks like one with scopes, and the cached keys
    /// are older than a second.
    func needsKeys(for credentials: Credentials) -> Bool {
        guard let text = credentials.key, KeyText.isLikely(text) else { return false }
        if let knownAt = keyKnowledge.withLock({ $0.knownAt }), clock.instant() - knownAt <= keyFreshness {
            return false
        }
        return KeyText(text) != nil
    }

    /// The freshness of cached sessions, and at most a second: a revoked key ends by then, even if the notification is lost.
    private var keyFreshness: Duration { min(configuration.sessionFreshness, .seconds(1)) }

    /// Invalidates the cached keys after a possible change.
    func forgetKeys() {
        keyKnowledge.withLock {
            $0.knownAt = nil
            $0.epoch += 1
        }
    }

    /// Reloads the keys with scopes, once for all requests that wait for it.
    ///
    /// Throws the database's error; the valid keys are then unknown.
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

    /// Reads the keys again if their version in the database has changed.
    func loadKeys() async throws(SkyrowError) {
        let start = clock.instant()
        let epoch = keyKnowledge.withLock { $0.epoch }
        let version = try await store.keys.version()
        if version != keys.held.version {
            let (records, version) = try await store.keys.all()
            currentKeys.withLock { current in
                // Of two concurrent reads the one with the higher version counts.
                if let known = current.held.version, known > version { return }
                current = current.holding(HeldKeys(records, version: version, after: current.held))
            }
        }
        keyKnowledge.withLock { knowledge in
            if knowledge.epoch == epoch { knowledge.knownAt = start }
        }
    }
}
