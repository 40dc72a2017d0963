import SkyrowModel
import SkyrowProtocol
import SkyrowStore

/// The saves of one request whose types have hooks: preview, hooks, write, and the same again for records that changed meanwhile.
struct HookedSaveRun: Sendable {
    /// How often the hooks of a record run that others change meanwhile.
    static let attempts = 3
    /// Upper bound on the records that a request holds for its hooks, in bytes.
    static let maximumHeldBytes = 64 << 20

    private let service: ActionService
    private let hooks: RecordHooks
    private let access: RecordAccess
    private let caller: HookCaller
    private let items: [SaveRequest.Item]
    private(set) var freshIDs: [RecordID: RecordID] = [:]
    /// The saves by item, as the hooks left them.
    private var changes: [Int: HookedChange] = [:]
    /// The items that hooks have refused.
    private(set) var refusedByHooks: Set<Int> = []
    private var heldBytes = 0

    init(
        _ service: ActionService,
        _ hooks: RecordHooks,
        saving items: [SaveRequest.Item],
        with access: RecordAccess,
        for caller: HookCaller
    ) {
        self.service = service
        self.hooks = hooks
        self.items = items
        self.access = access
        self.caller = caller
    }

    /// The ids of the records whose hooks run, without those that are new for certain.
    var ids: [RecordID] {
        items.compactMap { item in
            item.draft.flatMap { hooks.types.contains($0.id.type) && !$0.id.isTemporary ? $0.id : nil }
        }
    }

    // MARK: Preparing

    /// Previews the drafts at some places, no two of the same record, and runs their hooks.
    ///
    /// Returns all items: those at these places as they are saved, a refusal in place of one that is not, and placeholders for
    /// the others. Throws `115 AtomicOperationFailure` when the request is atomic and one is refused, `schemaMoved`, `132
    /// PayloadTooLarge` if the records take too much memory, and database errors.
    ///
    /// - Parameter earlier: The records that earlier drafts of the same transaction save, as they leave them.
    mutating func prepare(
        _ places: [Int],
        after earlier: [RecordID: Record] = [:],
        isAtomic: Bool
    ) async throws(SkyrowError) -> [SaveRequest.Item] {
        var prepared = items
        if places.count < items.count {
            prepared = Array(repeating: .failure(.raceLost, id: nil), count: items.count)
            for place in places { prepared[place] = items[place] }
        }
        for place in places {
            if let former = changes.removeValue(forKey: place) { heldBytes -= former.heldBytes }
        }
        let preview = try await service.store.preview(
            prepared,
            of: hooks.types,
            with: access,
            after: earlier,
            freshIDs: freshIDs,
            at: service.clock.now()
        )
        freshIDs = preview.freshIDs
        var (ready, refusals) = ([Int: HookedChange](), [Int: SkyrowError]())
        for place in places {
            switch preview.saves[place] {
            case nil: break
            case .failure(let error): refusals[place] = error
            case .success(let save):
                let record = HookedRecord(save.record, original: save.original, changed: save.changed)
                ready[place] = HookedChange(record)
            }
        }
        let size = ready.values.reduce(heldBytes) { $0 + $1.heldBytes }
        guard size <= Self.maximumHeldBytes else { throw .tooMuchForHooks }
        try refuse(&prepared, refusals, isAtomic)
        await service.run(hooks.before, on: &ready, for: caller)
        refusals = [:]
        for (place, change) in ready {
            guard case .draft(let draft) = items[place] else { continue }
            let hooked = change.draft(from: draft, isLater: earlier[change.record.record.id] != nil)
            prepared[place] = .draft(hooked)
            if let refusal = change.refusal {
                refusals[place] = refusal
                refusedByHooks.insert(place)
            } else {
                refusals[place] = service.store.misfit(of: hooked)
                changes[place] = change
                heldBytes += change.heldBytes
            }
        }
        try refuse(&prepared, refusals, isAtomic)
        guard prepared.contains(where: { $0.draft?.trusted != nil }) else { return prepared }
        prepared = try await service.applyingTypeRules(to: prepared, with: access, isAtomic: isAtomic)
        try await createSchema(for: &prepared, isAtomic)
        return prepared
    }

    /// Creates the fields that hooks have added; refuses the records for which that is impossible.
    private func createSchema(for prepared: inout [SaveRequest.Item], _ isAtomic: Bool) async throws(SkyrowError) {
        var refusals: [Int: SkyrowError] = [:]
        for (place, item) in prepared.enumerated() where item.draft?.trusted != nil {
            do throws(SkyrowError) {
                guard try service.store.lacksSchema(for: [item]), let draft = item.draft else { continue }
                try await service.store.createMissingSchema(for: [draft])
            } catch {
                guard error.code == .incompatibleSchema else { throw error }
                refusals[place] = error
            }
        }
        try refuse(&prepared, refusals, isAtomic)
    }

    /// Replaces items with errors; throws all of them together when the request is atomic.
    private func refuse(
        _ prepared: inout [SaveRequest.Item],
        _ refusals: [Int: SkyrowError],
        _ isAtomic: Bool
    ) throws(SkyrowError) {
        var failures: [String: SkyrowError] = [:]
        for (place, error) in refusals {
            let named = error.inItem(at: place)
            let record = id(of: place)
            prepared[place] = .failure(named, id: record)
            failures[record ?? ""] = named
        }
        if isAtomic, !failures.isEmpty { throw .atomicFailure(failures) }
    }

    private func id(of place: Int) -> String? {
        items[place].draft.map { (freshIDs[$0.id] ?? $0.id).description }
    }

    // MARK: Saving

    /// Saves each record by itself.
    ///
    /// Throws an error only if nothing was saved.
    mutating func saveEach() async throws(SkyrowError) -> [RecordOutcome] {
        var outcomes = [RecordOutcome?](repeating: nil, count: items.count)
        for round in rounds {
            var open = round
            for attempt in 1...Self.attempts where !open.isEmpty {
                do throws(SkyrowError) {
                    let prepared = try await prepare(open, isAtomic: false)
                    let saved = try await service.store.save(prepared, with: access, atomic: false, freshIDs: freshIDs)
                    for place in open { outcomes[place] = saved[place] }
                    open = attempt == Self.attempts ? [] : open.filter { hasLostRace(saved[$0], at: $0) }
                } catch {
                    guard outcomes.contains(where: { $0?.isRecord == true }) else { throw error }
                    for place in open { outcomes[place] = .failure(error, id: id(of: place)) }
                    open = []
                }
            }
        }
        return outcomes.map { $0 ?? .failure(.raceLost, id: nil) }
    }

    /// Prepares all records for one transaction. Of several drafts of one record, the hooks of each see what the one before
    /// makes of it.
    mutating func prepareTogether(isAtomic: Bool) async throws(SkyrowError) -> [SaveRequest.Item] {
        var prepared = items
        var earlier: [RecordID: Record] = [:]
        for round in rounds {
            let part = try await prepare(round, after: earlier, isAtomic: isAtomic)
            for place in round {
                prepared[place] = part[place]
                guard case .draft = part[place], let record = changes[place]?.record.record else { continue }
                earlier[record.id] = record
            }
        }
        return prepared
    }

    /// The places of the items: of several drafts of one record, each is in a later round than the one before.
    private var rounds: [[Int]] {
        var rounds: [[Int]] = []
        var counts: [RecordID: Int] = [:]
        for (place, item) in items.enumerated() {
            var round = 0
            if let id = item.draft?.id {
                round = counts[id, default: 0]
                counts[id] = round + 1
            }
            if round == rounds.count { rounds.append([]) }
            rounds[round].append(place)
        }
        return rounds
    }

    // MARK: Outcomes

    /// Whether a record was not saved because it changed while its hooks ran.
    func hasLostRace(_ outcome: RecordOutcome, at place: Int) -> Bool {
        guard case .failure(let error, _) = outcome, error.code == .conflict else { return false }
        return changes[place] != nil && items[place].draft?.repeatsAfterRace == true
    }

    /// Whether one of these was not saved because it changed while its hooks ran.
    func haveLostRace(_ outcomes: [RecordOutcome]) -> Bool {
        outcomes.indices.contains { hasLostRace(outcomes[$0], at: $0) }
    }

    /// Whether an atomic save failed because a record changed while its hooks ran.
    func hasLostRace(_ error: SkyrowError) -> Bool {
        if error == .raceLost { return true }
        guard error.code == .atomicOperationFailure else { return false }
        return items.indices.contains { place in
            guard let id = id(of: place), case .error(let failure)? = error.info[id] else { return false }
            return hasLostRace(.failure(failure, id: id), at: place)
        }
    }

    /// Returns the saved records with the fields that are hidden from the caller, for the hooks after the save.
    func saved(_ outcomes: [RecordOutcome]) -> [HookedRecord] {
        outcomes.enumerated().compactMap { place, outcome in
            guard var hooked = changes[place]?.record, let record = outcome.wholeRecord else { return nil }
            hooked.record = record
            return hooked
        }
    }
}

extension RecordOutcome {
    fileprivate var isRecord: Bool { if case .record = self { true } else { false } }
}

extension SkyrowError {
    /// The error of an item at an index of a request, which it may name already.
    fileprivate func inItem(at place: Int) -> SkyrowError {
        path?.hasPrefix("records[") == true ? self : inRecord(at: place)
    }

    /// `132` for records that are too large to hold while their hooks run.
    static let tooMuchForHooks = SkyrowError(
        .payloadTooLarge,
        "These records are too large together for their hooks; change fewer records at once."
    )
}
