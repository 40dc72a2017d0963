import SkyrowModel
import SkyrowProtocol
import SkyrowStore

extension ActionTable {
    static let access: [any AnyEntry] = [
        Entry(Actions.schemaAccess, ActionService.setCreateRoles),
        Entry(Actions.schemaAccessSet, ActionService.changeClassAccess),
        Entry(Actions.schemaAccessGet, ActionService.classAccess(of:_:)),
        Entry(Actions.schemaDefaultAccess, ActionService.setDefaultAccess),
        Entry(Actions.schemaFieldAccessGet, ActionService.skygearFieldRules),
        Entry(Actions.schemaFieldAccessUpdate, ActionService.replaceSkygearFieldRules),
        Entry(Actions.recordTransfer, ActionService.transfer),
    ]
}

extension ActionService {
    fileprivate func setCreateRoles(_ create: CreateRoles, _ call: Call) async throws(SkyrowError) -> CreateRoles {
        var change = ClassAccessChange(type: create.type)
        let rule = create.roles.isEmpty ? nil : ClassRule(create.roles.map { .role($0) })
        change.rules.updateValue(rule, forKey: .create)
        _ = try await store.classAccess.change(change, recording: call.audit(.rule))
        return create
    }

    fileprivate func changeClassAccess(
        _ change: ClassAccessChange,
        _ call: Call
    ) async throws(SkyrowError) -> TypeClassAccess {
        let access = try await store.classAccess.change(change, recording: call.audit(.rule))
        return TypeClassAccess(type: change.type, access: access)
    }

    fileprivate func classAccess(of type: RecordTypeName, _ call: Call) async throws(SkyrowError) -> TypeClassAccess {
        TypeClassAccess(type: type, access: try await store.classAccess.access(of: type))
    }

    fileprivate func setDefaultAccess(
        _ list: TypeDefaultAccess,
        _ call: Call
    ) async throws(SkyrowError) -> TypeDefaultAccess {
        var change = ClassAccessChange(type: list.type)
        change.defaultAccess = .some(list.access)
        let access = try await store.classAccess.change(change, recording: call.audit(.rule))
        return TypeDefaultAccess(type: list.type, access: access.defaultAccess)
    }

    fileprivate func skygearFieldRules(_: Void, _ call: Call) async throws(SkyrowError) -> [SkygearFieldRule] {
        try await store.skygearFieldRules.rules()
    }

    fileprivate func replaceSkygearFieldRules(
        _ rules: [SkygearFieldRule],
        _ call: Call
    ) async throws(SkyrowError) -> [SkygearFieldRule] {
        try await store.skygearFieldRules.replace(rules, recording: call.audit(.rule))
    }
}

// MARK: Owners

extension ActionService {
    fileprivate func transfer(_ transfer: RecordTransfer, _ call: Call) async throws(SkyrowError) -> [RecordOutcome] {
        let access = try recordAccess(to: .everyone, for: .writing, by: call.caller)
        let outcomes = try await store.transfer(transfer, with: access, recording: call.audit(.transfer))
        return call.reported(outcomes)
    }
}
