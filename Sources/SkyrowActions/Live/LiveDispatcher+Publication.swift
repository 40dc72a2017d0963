import SkyrowModel
import SkyrowStore
import Synchronization

extension LiveDispatcher {
    /// How often it is looked whether changes are published while none come.
    static let publicationInterval: Duration = .seconds(5)

    /// What is published, as it was found last.
    struct PublicationLook {
        /// The oids of memberships by the oids of tables.
        fileprivate var members: [UInt32: UInt32] = [:]
        fileprivate(set) var lookedAt = ContinuousClock.now
    }

    /// Publishes a type whose changes the stream does not bring; throws `111 NotSupported` where the role may not, and `110
    /// ResourceNotFound` for a type that was dropped meanwhile.
    ///
    /// Where changes are asked for nothing has to be published.
    func requirePublished(_ type: RecordTypeName) async throws(SkyrowError) {
        guard state.withLock({ $0.mode == .logical }) else { return }
        // A table that is replaced between two of these statements is looked up again, but not forever.
        var former: UInt32?
        for _ in 0..<4 {
            try await store.publish()
            let published = try await store.publishedTables()
            _ = try await store.recordSchema()
            guard let table = store.cache.current.tables[type] else {
                throw SkyrowError(.resourceNotFound, "There is no such record type.")
            }
            if published[table.oid] != nil { return }
            if former == table.oid { break }
            former = table.oid
        }
        throw SkyrowError(
            .notSupported,
            "The changes of \(type) are not published, and the service may not do so. The operator sees with \"skyrow doctor\" how "
                + "it is done."
        )
    }

    /// Finds out whether all changes of the types that subscriptions are about were published since the last look; false where
    /// some were not, or nothing can be said.
    ///
    /// What is missing is published again, and the subscriptions about it go on from the last moment up to which all was sent.
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
        // A table that was renamed or replaced ends its subscriptions by its schema, once the catalogue has it.
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
    /// Changes of some types were missed: subscriptions about them end, to go on from the last moment up to which all was sent.
    fileprivate mutating func lose(changesOf types: Set<RecordTypeName>) {
        for number in registry.groups.numbers {
            guard let group = registry.groups[number]?.value, types.contains(group.type) else { continue }
            for subscriber in group.subscribers { reset(subscriber, .gap, after: .jitter(within: .seconds(2))) }
        }
        watches.noteAll()
    }
}
