import SkyrowModel
import SkyrowProtocol
import SkyrowStore

/// The hooks before and after a change of records.
struct RecordHooks: Sendable {
    let before: HookPlan
    let after: HookPlan

    /// The types that have any of these hooks.
    let types: Set<RecordTypeName>

    init(before: HookPlan, after: HookPlan) {
        self.before = before
        self.after = after
        types = Set(before.types + after.types)
    }
}

/// For whom hooks are called, and until when.
struct HookCaller: Sendable {
    let context: FunctionContext
    let deadline: ContinuousClock.Instant?
}

extension ActionService {
    /// Returns the hooks of a change of records; nil if none of the types has any.
    ///
    /// Throws `102 PermissionDenied` if a caller other than the operator wants none to run.
    func recordHooks(
        before: HookTrigger,
        after: HookTrigger,
        on types: @autoclosure () -> Set<RecordTypeName>,
        isAsked: Bool,
        by caller: Caller
    ) throws(SkyrowError) -> RecordHooks? {
        guard isAsked else {
            guard caller.isOperator else { throw .hooksNeedMaster }
            return nil
        }
        guard functions.hasHooks(before) || functions.hasHooks(after) else { return nil }
        let (registry, types) = (functions.registry, types())
        let hooks = RecordHooks(
            before: HookPlan(before, on: types, in: registry),
            after: HookPlan(after, on: types, in: registry)
        )
        return hooks.types.isEmpty ? nil : hooks
    }

    func hookCaller(of call: Call) -> HookCaller {
        HookCaller(context: functionContext(of: call), deadline: call.deadline)
    }

    /// Waits for the turns of records that a call changes, and returns them. A call of a function waits for none, since the
    /// hook that makes it may hold them.
    func enterTurns(
        of ids: some Sequence<RecordID>,
        in database: DatabaseScope,
        _ call: Call
    ) async throws(SkyrowError) -> Set<RecordTurns.Key> {
        guard call.functionDepth == 0 else { return [] }
        let keys = Set(ids.map { RecordTurns.Key(database: database, id: $0) })
        try await hookState.turns.enter(keys)
        return keys
    }

    // MARK: Before

    /// Runs the hooks before a change, each on what the hooks before it have made of the records; the first error of a record
    /// ends it.
    func run(_ plan: HookPlan, on changes: inout [Int: HookedChange], for caller: HookCaller) async {
        let places = Dictionary(grouping: changes.keys.sorted()) { changes[$0]?.record.record.id.type }
        for type in plan.types {
            for hook in plan[type] {
                let concerned = (places[type] ?? []).filter { place in
                    changes[place].map { $0.refusal == nil && hook.concerns($0.record) } ?? false
                }
                let calls = hook.calls(for: concerned)
                let verdicts = await verdicts(
                    of: hook,
                    on: calls.map { $0.compactMap { changes[$0]?.record } },
                    for: caller
                )
                for (places, verdicts) in zip(calls, verdicts) {
                    for (place, verdict) in zip(places, verdicts) {
                        changes[place]?.apply(verdict, of: hook.description.trigger)
                    }
                }
            }
        }
    }

    /// Calls a hook for each part of the records, a few calls at once.
    func verdicts(
        of hook: FunctionRegistry.Hook,
        on parts: [[HookedRecord]],
        for caller: HookCaller
    ) async -> [[HookVerdict]] {
        guard parts.count > 1 else {
            var verdicts: [[HookVerdict]] = []
            for part in parts { verdicts.append(await self.verdicts(of: hook, on: part, for: caller)) }
            return verdicts
        }
        return await withTaskGroup(of: (Int, [HookVerdict]).self) { group in
            var verdicts = [[HookVerdict]](repeating: [], count: parts.count)
            for (place, part) in parts.enumerated() {
                if place >= FunctionRegistry.Hook.callsAtOnce, let (place, found) = await group.next() {
                    verdicts[place] = found
                }
                group.addTask { (place, await self.verdicts(of: hook, on: part, for: caller)) }
            }
            for await (place, found) in group { verdicts[place] = found }
            return verdicts
        }
    }

    private func verdicts(
        of hook: FunctionRegistry.Hook,
        on records: [HookedRecord],
        for caller: HookCaller
    ) async -> [HookVerdict] {
        do throws(SkyrowError) {
            switch try await answer(of: hook, to: .records(records), for: caller) {
            case .nothing: return records.map { _ in .unchanged }
            case .records(let verdicts) where verdicts.count == records.count: return verdicts
            case .records, .value, .query, .handler, .principal: throw .hookAnswerInvalid
            }
        } catch {
            let isSkipped = !hook.description.isRequired && error.isServerAway
            if isSkipped { observe(.hooksSkipped(records.count)) }
            return records.map { _ in isSkipped ? .unchanged : .refused(error) }
        }
    }

    /// Throws the error that the hook returned, and those of ``FunctionRunner``.
    func answer(
        of hook: FunctionRegistry.Hook,
        to input: HookInput,
        for caller: HookCaller
    ) async throws(SkyrowError) -> FunctionAnswer {
        guard caller.context.depth <= Self.maximumFunctionDepth else { throw .callsTooDeeply }
        let call = FunctionCall(
            .hook(hook.description, input),
            of: hook.server,
            context: caller.context,
            timeout: hook.description.timeout
        )
        return try await functions.call(call, deadline: caller.deadline)
    }

    // MARK: After

    /// Runs the hooks after a change. Their errors are logged and counted; the request does not wait for asynchronous ones.
    func run(_ plan: HookPlan, after records: [HookedRecord], for caller: HookCaller) async {
        for type in plan.types {
            let records = records.filter { $0.record.id.type == type }
            for hook in plan[type] {
                let parts = hook.calls(for: records.filter { hook.concerns($0) })
                guard hook.description.isAsync else {
                    note(await verdicts(of: hook, on: parts, for: caller), of: hook)
                    continue
                }
                for part in parts {
                    begin(count: part.count, for: caller) { caller in
                        self.note([await self.verdicts(of: hook, on: part, for: caller)], of: hook)
                    }
                }
            }
        }
    }

    /// Runs a hook after a login or a logout.
    func run(_ hook: FunctionRegistry.Hook, after profile: Record, for caller: HookCaller) async {
        @Sendable func run(for caller: HookCaller) async {
            do throws(SkyrowError) {
                _ = try await answer(of: hook, to: .account(profile), for: caller)
            } catch {
                if !hook.description.isRequired, error.isServerAway { return observe(.hooksSkipped(1)) }
                observe(.hookFailed(hook.description.trigger, name: hook.description.name, error.code))
            }
        }
        guard hook.description.isAsync else { return await run(for: caller) }
        begin(count: 1, for: caller) { await run(for: $0) }
    }

    /// Begins an asynchronous call, which may outlast its request; skips it when too many run.
    private func begin(
        count: Int,
        for caller: HookCaller,
        _ body: @escaping @Sendable (HookCaller) async -> Void
    ) {
        guard hookState.beginAsyncCall() else { return observe(.hooksSkipped(count)) }
        let caller = HookCaller(context: caller.context, deadline: nil)
        Task {
            await body(caller)
            hookState.endAsyncCall()
        }
    }

    /// Emits the error of each call of a hook that changes nothing.
    private func note(_ verdicts: [[HookVerdict]], of hook: FunctionRegistry.Hook) {
        for part in verdicts {
            for case .refused(let error) in part {
                observe(.hookFailed(hook.description.trigger, name: hook.description.name, error.code))
                break
            }
        }
    }
}

extension Record {
    /// An estimate of the memory that the record takes.
    var heldBytes: Int { fields.values.reduce(512) { $0 + $1.heldBytes } }
}

extension RecordOutcome {
    /// The record with the fields that are hidden from the caller; nil for an error.
    var wholeRecord: Record? {
        guard case .record(let source) = self else { return nil }
        return (source as? StoredRow)?.wholeRecord ?? source.collected()
    }
}

extension SkyrowError {
    fileprivate static let hooksNeedMaster = SkyrowError(
        .permissionDenied,
        "\"hooks\": false requires the master key.",
        info: ["arguments": .list([.string("hooks")])]
    )
}
