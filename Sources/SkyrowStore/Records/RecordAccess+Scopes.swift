internal import SkyrowModel
internal import SkyrowProtocol

// Checks a key's scopes for what a change affects apart from the records themselves, before anything is written.

extension RecordAccess {
    /// Throws `102 PermissionDenied` if the request's key may not change the type, or a type whose records change with a
    /// deleted one by the rules of references.
    func requireDeleting(_ type: RecordTypeName, in catalog: SchemaCatalog) throws(SkyrowError) {
        guard hasScopes else { return }
        try requireWriting(type)
        guard let table = catalog[type], let graph = DeleteGraph(of: table, in: catalog) else { return }
        for dependent in graph.types { try requireWriting(dependent.name) }
        for nullification in graph.nullifications { try requireWriting(nullification.table.name) }
    }

    /// Throws `102 PermissionDenied` if the request's key may not read a type that values refer to, since accepting or refusing
    /// a reference reveals whether the record exists.
    func requireReferring(
        _ fields: [(name: FieldName, value: RecordValue)],
        _ operators: [(name: FieldName, change: FieldOperator)],
        of type: RecordTypeName,
        in catalog: SchemaCatalog
    ) throws(SkyrowError) {
        guard hasScopes else { return }
        for target in Self.targets(of: fields, operators, of: type, in: catalog) { try requireReading(target) }
    }

    /// Checks the references of a new profile; the key need not read records in general.
    func requireReferring(
        inProfile fields: [(name: FieldName, value: RecordValue)],
        readsRecords: Bool,
        in catalog: SchemaCatalog
    ) throws(SkyrowError) {
        if !readsRecords, let target = Self.targets(of: fields, [], of: .user, in: catalog).first {
            throw .scopeMissing(KeyScope.type(target, onlyReads: true).text)
        }
        try requireReferring(fields, [], of: .user, in: catalog)
    }

    /// Returns the types that values refer to.
    private static func targets(
        of fields: [(name: FieldName, value: RecordValue)],
        _ operators: [(name: FieldName, change: FieldOperator)],
        of type: RecordTypeName,
        in catalog: SchemaCatalog
    ) -> [RecordTypeName] {
        let table = catalog[type]
        // Removing a reference refers to no record.
        let values = fields.filter { $0.value != .null }
        return values.flatMap { [$0.value.fieldType?.target, table?[$0.name]?.type.target].compactMap(\.self) }
            + operators.flatMap { [$0.change.reference?.type, table?[$0.name]?.type.target].compactMap(\.self) }
    }

    /// Checks a change by predicate.
    func requireScopes(of request: BulkRequest, in catalog: SchemaCatalog) throws(SkyrowError) {
        guard hasScopes else { return }
        switch request.change {
        case .delete:
            try requireDeleting(request.type, in: catalog)
        case .update(let changes, _):
            try requireWriting(request.type)
            try requireReferring(changes.draft.fields, changes.draft.operators, of: request.type, in: catalog)
        }
    }
}
