package import SkyrowModel
import SkyrowStore

extension ActionService {
    /// `schema:access`: sets who creates records of a type, and nothing else of its rules.
    package func setCreateRoles(_ request: CreateRolesRequest) async throws(SkyrowError) -> CreateRolesRequest {
        try await observed(.schemaAccess) { () async throws(SkyrowError) in
            var change = ClassAccessChange(type: request.type)
            let rule = request.roles.isEmpty ? nil : ClassRule(request.roles.map { .role($0) })
            change.rules.updateValue(rule, forKey: .create)
            _ = try await store.classAccess.change(change)
            return request
        }
    }

    /// `schema:access:set`: returns all rules of the type.
    package func changeClassAccess(_ change: ClassAccessChange) async throws(SkyrowError) -> ClassAccess {
        try await observed(.schemaAccessSet) { () async throws(SkyrowError) in
            try await store.classAccess.change(change)
        }
    }

    /// `schema:access:get`
    package func classAccess(of type: RecordTypeName) async throws(SkyrowError) -> ClassAccess {
        try await observed(.schemaAccessGet) { () async throws(SkyrowError) in
            try await store.classAccess.access(of: type)
        }
    }
}
