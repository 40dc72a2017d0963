import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import Synchronization

extension LiveDispatcher {
    /// How often the publication is checked while no changes arrive.
    static let publicationInterval: Duration = .seconds(5)

    /// The publication as of the last check.
    struct PublicationLook {
        /// The oids of memberships by the oids of tables.
        fileprivate var members: [UInt32: UInt32] = [:]
        fileprivate(set) var lookedAt = ContinuousClock.now
    }

    /// Adds a type to the publication if the stream lacks its changes. Throws `111 NotSupported` if the role lacks the right, and
    /// `110 ResourceNotFound` for a type that was dropped meanwhile.
    ///
    /// Polling needs no publication.
    func requirePublished(_ type: RecordTypeName) async throws(SkyrowError) {
        guard state.withLock({ $0.mode == .logical }) else { return }
        // A table that is replaced between two of these statements is looked up again, but not forever.
        var former: UInt32?
        for _ in 0..<4 {
            try await store.publish()
            let published = try await store.publishedTables()
            _ = try await store.recordSchema()
            guard let table = store.cache.current.tables[type] else { throw SkyrowError.recordTypeNotFound }
            if published[table.oid] != nil { return }
            if former == table.oid { break }
            former = table.oid
        }
        throw SkyrowError(
            .notSupported,
            "The changes of \(type) are not published, and the service has no right to publish them; \"skyrow doctor\" "
                + "says how."
        )
    }

    /// Checks whether all changes of the subscribed types were published since the last check; returns false if some were not, or
    /// if the check failed.
    ///
    /// Missing types are published again, and their subscriptions resume from the last position up to which everything was sent.
    func lookAtPublication(_ last: inout PublicationLook) async -> Bool {
        let former = last
        last.lookedAt = .now
        guard let present = try? await store.publishedTables() else { return false }
        let tables = store.cache.current.tables
        last.members = present
        var lost = state.withLock { $0.watchedTypes.keys }.filter { type in
            guard let table = tables[type] else { return false }
            guard let membership = present[table.oid] else { return true }
            return former.members[table.oid].map { $0 != membership } ?? false
        }
        guard !lost.isEmpty else { return true }
        // A renamed or replaced table ends its subscriptions as a schema change, once the catalog has it.
        guard (try? await store.cache.reload()) != nil else { return false }
        let current = store.cache.current.tables
        lost.removeAll { current[$0]?.oid != tables[$0]?.oid }
        guard !lost.isEmpty else { return false }
        _ = try? await store.publish()
        let names = lost.map(\.rawValue).sorted().joined(separator: ", ")
        observe(.changesInterrupted("unpublished", message: "The publication lacked changes of \(names)"))
        state.withLock { $0.lose(changesOf: Set(lost)) }
        watchSignals.continuation.yield()
        observeResets()
        return false
    }
}

extension LiveState {
    /// Ends the subscriptions of types whose changes were missed; they resume from the last position up to which everything was
    /// sent.
    fileprivate mutating func lose(changesOf types: Set<RecordTypeName>) {
        for number in registry.groups.numbers {
            guard let group = registry.groups[number]?.value, types.contains(group.type) else { continue }
            for subscriber in group.subscribers { reset(subscriber, .gap, after: .jitter(within: .seconds(2))) }
        }
        watches.noteAll()
    }
}
