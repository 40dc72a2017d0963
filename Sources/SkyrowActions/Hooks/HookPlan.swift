import SkyrowModel
import SkyrowProtocol
import SkyrowStore

/// The hooks of one trigger on the types of a request, in the order in which they run.
struct HookPlan: Sendable {
    private let hooks: [RecordTypeName: [FunctionRegistry.Hook]]

    init(_ trigger: HookTrigger, on types: Set<RecordTypeName>, in registry: FunctionRegistry) {
        var hooks: [RecordTypeName: [FunctionRegistry.Hook]] = [:]
        for type in types where registry.hasHooks(trigger, on: type) { hooks[type] = registry.hooks(trigger, on: type) }
        self.hooks = hooks
    }

    var isEmpty: Bool { hooks.isEmpty }

    /// The types that have hooks, sorted.
    var types: [RecordTypeName] { hooks.keys.sorted() }

    subscript(type: RecordTypeName) -> [FunctionRegistry.Hook] { hooks[type] ?? [] }
}

extension FunctionRegistry.Hook {
    /// Upper bound on the calls of one hook at once for one request.
    static let callsAtOnce = 8

    /// Whether the hook runs for a record.
    func concerns(_ record: HookedRecord) -> Bool {
        switch description.trigger {
        case .beforeSave, .afterSave:
            let fields = description.fields
            return description.when.contains(record.original == nil ? .create : .update)
                && (fields.isEmpty || record.changed.contains { fields.contains($0) })
        case .beforeDelete, .afterDelete, .beforeQuery, .afterFetch, .beforeLogin, .afterLogin, .afterLogout:
            return true
        }
    }

    /// Divides records into those of each call.
    func calls<Element>(for records: [Element]) -> [[Element]] {
        let size =
            switch dialect {
            case .skygear: 1
            case .skyrow: max(1, min(description.batch, Self.maximumBatch))
            }
        return stride(from: 0, to: records.count, by: size).map { Array(records[$0..<min($0 + size, records.count)]) }
    }

    private static let maximumBatch = 100
}

/// A record on its way through the hooks before a save or a delete.
struct HookedChange: Sendable {
    /// The record as the next hook gets it.
    private(set) var record: HookedRecord
    /// The fields that hooks have set, `null` for a cleared one.
    private(set) var fields: [FieldName: RecordValue] = [:]
    /// The access list that a hook has set.
    private(set) var access: AccessList?
    /// The error of the first hook that refused it.
    private(set) var refusal: SkyrowError?

    init(_ record: HookedRecord) {
        self.record = record
    }

    /// An estimate of the memory that it takes.
    var heldBytes: Int { record.record.heldBytes + (record.original?.heldBytes ?? 0) }

    /// Takes what a hook says. A value that the record has already is no change.
    mutating func apply(_ verdict: HookVerdict, of trigger: HookTrigger) {
        switch (verdict, trigger) {
        case (.refused(let error), _): refusal = error
        case (.dropped, _): refusal = .hookAnswerInvalid
        case (.accepted(let fields, let access), .beforeSave):
            for (name, value) in fields { set(name, to: value ?? .null) }
            guard let access, record.record.access?.isSame(as: access) != true else { return }
            record.record.access = access
            self.access = access
        case (.accepted, _): break
        }
    }

    private mutating func set(_ name: FieldName, to value: RecordValue) {
        guard !value.isSameStored(as: record.record.fields[name] ?? .null) else { return }
        record.record.fields[name] = value == .null ? nil : value
        fields[name] = value
        record.changed.removeAll { $0 == name }
        guard !value.isSameStored(as: record.original?.fields[name] ?? .null) else { return }
        record.changed = (record.changed + [name]).sorted()
    }

    /// Returns a draft with what hooks have set, which is saved only if the record is still as the hooks saw it.
    ///
    /// - Parameter isLater: whether an earlier draft of the same transaction saves the record, and so keeps others from it.
    func draft(from draft: RecordDraft, isLater: Bool) -> RecordDraft {
        var draft = draft
        if !isLater, draft.repeatsAfterRace {
            switch record.original {
            case nil: draft.precondition = .isNew
            case let original?: draft.precondition = original.revision.map { .revision($0) } ?? .exists
            }
        }
        guard !fields.isEmpty || access != nil else { return draft }
        draft.fields.removeAll { fields.keys.contains($0.name) }
        draft.operators.removeAll { fields.keys.contains($0.name) }
        draft.fields += fields.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
        if let access { draft.access = access }
        draft.trusted = TrustedMembers(fields: Set(fields.keys), hasAccess: access != nil)
        return draft
    }
}

extension RecordDraft {
    /// Whether the save is repeated when the record changes while its hooks run; a client that names a state wants no other.
    var repeatsAfterRace: Bool {
        switch precondition {
        case .isNew, .revision: false
        case .exists, nil: !id.isTemporary
        }
    }
}

extension SkyrowError {
    /// `10000` for an answer that a hook cannot give.
    static let hookAnswerInvalid = SkyrowError(.unexpectedError, "A hook gave an invalid answer.")
    /// `118` for hooks of a server that the settings no longer name.
    /// `130` for a record that others kept changing.
    static let changedDuringHooks = SkyrowError(.conflict, "The record was changed while its hooks ran; try again.")
    /// Ends a transaction whose records were changed while their hooks ran; never sent.
    static let raceLost = SkyrowError(.conflict, "A record was changed while its hooks ran.")

    /// Whether the function server is away, rather than refusing something.
    var isServerAway: Bool { [.pluginUnavailable, .pluginInitializing, .pluginTimeout].contains(code) }
}
