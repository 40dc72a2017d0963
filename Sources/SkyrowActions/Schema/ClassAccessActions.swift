package import SkyrowModel
import SkyrowStore

extension ActionService {
    /// `schema:access`: sets who creates records of a type, and changes none of its other rules.
    package func setCreateRoles(
        _ request: CreateRolesRequest,
        by caller: Caller = Caller(kind: .master(actingAs: nil)),
        origin: RequestOrigin = RequestOrigin()
    ) async throws(SkyrowError) -> CreateRolesRequest {
        try await observed(.schemaAccess) { () async throws(SkyrowError) in
            var change = ClassAccessChange(type: request.type)
            let rule = request.roles.isEmpty ? nil : ClassRule(request.roles.map { .role($0) })
            change.rules.updateValue(rule, forKey: .create)
            _ = try await store.classAccess.change(change, recording: event(by: caller, from: origin))
            return request
        }
    }

    /// `schema:access:set`: returns all rules of the type.
    package func changeClassAccess(
        _ change: ClassAccessChange,
        by caller: Caller = Caller(kind: .master(actingAs: nil)),
        origin: RequestOrigin = RequestOrigin()
    ) async throws(SkyrowError) -> ClassAccess {
        try await observed(.schemaAccessSet) { () async throws(SkyrowError) in
            try await store.classAccess.change(change, recording: event(by: caller, from: origin))
        }
    }

    /// `schema:default_access`: sets the access list of new records of a type, and changes none of its other rules.
    package func setDefaultAccess(
        _ request: DefaultAccessRequest,
        by caller: Caller = Caller(kind: .master(actingAs: nil)),
        origin: RequestOrigin = RequestOrigin()
    ) async throws(SkyrowError) -> DefaultAccessRequest {
        try await observed(.schemaDefaultAccess) { () async throws(SkyrowError) in
            var change = ClassAccessChange(type: request.type)
            change.defaultAccess = .some(request.access)
            let access = try await store.classAccess.change(change, recording: event(by: caller, from: origin))
            return DefaultAccessRequest(type: request.type, access: access.defaultAccess)
        }
    }

    /// `schema:access:get`
    package func classAccess(of type: RecordTypeName) async throws(SkyrowError) -> ClassAccess {
        try await observed(.schemaAccessGet) { () async throws(SkyrowError) in
            try await store.classAccess.access(of: type)
        }
    }

    /// `schema:field_access:get`
    package func skygearFieldRules() async throws(SkyrowError) -> [SkygearFieldRule] {
        try await observed(.schemaFieldAccessGet) { () async throws(SkyrowError) in
            try await store.skygearFieldRules.rules()
        }
    }

    /// `schema:field_access:update`: returns the resulting rules.
    package func replaceSkygearFieldRules(
        _ rules: [SkygearFieldRule],
        by caller: Caller = Caller(kind: .master(actingAs: nil)),
        origin: RequestOrigin = RequestOrigin()
    ) async throws(SkyrowError) -> [SkygearFieldRule] {
        try await observed(.schemaFieldAccessUpdate) { () async throws(SkyrowError) in
            try await store.skygearFieldRules.replace(rules, recording: event(by: caller, from: origin))
        }
    }

    private func event(by caller: Caller, from origin: RequestOrigin) -> AuditEvent {
        AuditEvent(.rule, by: AuditEvent.Actor(caller), from: origin)
    }
}
