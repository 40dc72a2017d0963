package import SkyrowModel
package import SkyrowProtocol
package import SkyrowStore

// The store takes a caller's `RecordAccess`; tests give the caller, and resolve the access as the actions do.

extension RecordAccess {
    /// Makes a caller's access to a database; empty if the database is closed to the caller.
    package convenience init(_ caller: Caller, in scope: DatabaseScope = .everyone, for use: Use = .writing) {
        self.init(in: scope, for: use, by: caller)
    }

    /// Opens a database for writing. Throws if it is closed to the caller.
    package convenience init(opening scope: DatabaseScope, by caller: Caller) throws(SkyrowError) {
        let name: DatabaseName =
            switch scope {
            case .everyone: .everyone
            case .user(let user): .user(user)
            case .union: .union
            }
        try self.init(opening: name, for: .writing, by: caller)
    }
}

extension RecordStore {
    package func save(
        _ items: [SaveRequest.Item],
        in scope: DatabaseScope,
        caller: Caller,
        atomic: Bool,
        fitsSchema: Bool = false
    ) async throws -> [RecordOutcome] {
        let access = try RecordAccess(opening: scope, by: caller)
        return try await save(items, with: access, atomic: atomic, fitsSchema: fitsSchema)
    }

    package func delete(
        _ ids: [RecordID],
        in scope: DatabaseScope,
        caller: Caller,
        atomic: Bool
    ) async throws -> [RecordOutcome] {
        try await delete(ids, with: try RecordAccess(opening: scope, by: caller), atomic: atomic)
    }

    package func fetch(_ ids: [RecordID], in scope: DatabaseScope, caller: Caller) async throws -> [RecordOutcome] {
        try await fetch(ids, with: RecordAccess(caller, in: scope, for: .reading))
    }

    package func query(_ query: RecordQuery, in scope: DatabaseScope, caller: Caller) async throws -> QueryResult {
        try await self.query(query, with: RecordAccess(caller, in: scope, for: .reading))
    }

    package func refusals(
        saving drafts: [RecordDraft],
        in scope: DatabaseScope,
        caller: Caller
    ) async throws -> [Int: SkyrowError] {
        try await refusals(saving: drafts, with: RecordAccess(caller, in: scope))
    }
}
