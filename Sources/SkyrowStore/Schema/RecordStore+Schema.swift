package import SkyrowModel
package import SkyrowPostgres
package import SkyrowProtocol

extension RecordStore {
    /// Returns the changes that saving these records would make to the cached schema, without waiting.
    ///
    /// The plan is usually empty. If it is not, check the caller's right to write before ``createMissingSchema(for:)``, so that
    /// nothing is created for a caller who may not write. Throws `114 IncompatibleSchema` if a value does not fit its field and
    /// `108 InvalidArgument` for a reserved name. In production mode a missing type or field is left to
    /// ``createMissingSchema(for:)``, since it may exist by then.
    package func schemaPlan(saving drafts: [RecordDraft]) throws(SkyrowError) -> SchemaPlan {
        try SchemaPlan(.save(drafts), in: cache.current, mode: .development)
    }

    /// Creates the types and fields that these records lack; the catalog has them when it returns.
    ///
    /// Throws `114 IncompatibleSchema` in production mode and if a value does not fit its field.
    package func createMissingSchema(for drafts: [RecordDraft]) async throws(SkyrowError) {
        try await changing {
            guard case .production = mode else { return try await changer.apply(.save(drafts), mode: mode) }
            // An administrator may just have created the field.
            try await cache.look(for: SchemaRequest.save(drafts).types)
            _ = try SchemaPlan(.save(drafts), in: cache.current, mode: mode)
        }
    }

    /// Returns the table of a type; nil if it does not exist.
    ///
    /// An unknown name is looked up in the database as often as ``SchemaCache/look(for:)`` allows.
    ///
    /// Throws `110 ResourceNotFound` for the name of a view, or of a table without the columns of records: it cannot become a
    /// type, so the result must differ from that of a type without records.
    package func table(of type: RecordTypeName) async throws(SkyrowError) -> RecordTable? {
        if let table = try await knownTable(of: type) { return table }
        guard !cache.current.otherNames.contains(type.rawValue) else { throw .noRecordTable(type) }
        return nil
    }

    /// The same, but returns nil for such a view or table.
    func knownTable(of type: RecordTypeName) async throws(SkyrowError) -> RecordTable? {
        if let table = cache.current[type] { return table }
        try await changing { try await cache.look(for: [type]) }
        return cache.current[type]
    }

    /// `schema:fetch`
    package func recordSchema() async throws(SkyrowError) -> RecordSchema {
        try await changing { try await cache.reload() }
        return cache.current.recordSchema
    }

    /// `schema:create`: all or nothing; new types may refer to each other.
    ///
    /// Throws `114 IncompatibleSchema` if a field exists with another type or refers to a type that does not exist, and if
    /// PostgreSQL's lock table is too small for this many types at once.
    package func createTypes(_ types: [RecordType]) async throws(SkyrowError) -> RecordSchema {
        try await changing { try await changer.apply(.create(types), mode: .development) }
        return cache.current.recordSchema
    }

    /// `schema:rename`; throws `110 ResourceNotFound` if there is no such field, or already one of the new name.
    package func renameField(_ rename: FieldRename) async throws(SkyrowError) -> RecordSchema {
        try await changing {
            try await changer.apply(.rename(rename.field, to: rename.newName, of: rename.type), mode: .development)
        }
        return cache.current.recordSchema
    }

    /// `schema:delete`: drops a field with its data; throws `110 ResourceNotFound` if there is no such field.
    package func deleteField(_ deletion: FieldDeletion) async throws(SkyrowError) -> RecordSchema {
        try await changing { try await changer.apply(.delete(deletion.field, of: deletion.type), mode: .development) }
        return cache.current.recordSchema
    }

    private func changing(_ body: () async throws -> Void) async throws(SkyrowError) {
        try await reporting(special: SkyrowError.schemaFailure, body)
    }
}

extension SkyrowError {
    static func noRecordTable(_ type: RecordTypeName) -> SkyrowError {
        SkyrowError(
            .resourceNotFound,
            "\(type) is not a record type: it is a view, or a table without the columns of records."
        )
    }

    /// The error for a table change that PostgreSQL refuses; nil for other failures.
    package static func schemaFailure(_ error: PostgresError) -> SkyrowError? {
        if let refusal = PostGIS.refusal(error) ?? Trigrams.refusal(error) { return refusal }
        return switch error.sqlState {
        case .some(.tooManyColumns):
            SkyrowError(.incompatibleSchema, "The type would have more fields than PostgreSQL allows.")
        case "53200":
            SkyrowError(.incompatibleSchema, "The change exceeds PostgreSQL's memory; send fewer types at a time.")
        case "2BP01":
            SkyrowError(.incompatibleSchema, "A view or another object of the database depends on this field.")
        case .some(.duplicateTable), .some(.duplicateColumn):
            SkyrowError(.incompatibleSchema, "The name is taken by another object of the database.")
        case .some(.insufficientPrivilege):
            SkyrowError(.incompatibleSchema, "The service's database role may not change this table.")
        default:
            nil
        }
    }
}
