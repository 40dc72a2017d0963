internal import SkyrowModel

// What a change of records reaches besides them, judged by the scopes of a key before anything is written.

extension RecordAccess {
    /// Throws `102 PermissionDenied` where the key of the request does not change the type, or one whose records change with
    /// a deleted one by the rules of references.
    func requireDeleting(_ type: RecordTypeName, in catalog: SchemaCatalog) throws(SkyrowError) {
        guard hasScopes else { return }
        try requireWriting(type)
        guard let table = catalog[type], let graph = DeleteGraph(of: table, in: catalog) else { return }
        for dependent in graph.types { try requireWriting(dependent.name) }
        for nullification in graph.nullifications { try requireWriting(nullification.table.name) }
    }

    /// Throws `102 PermissionDenied` where the key of the request does not read a type that values refer to: whether a
    /// reference is refused says whether there is such a record.
    func requireReferring(
        _ fields: [(name: FieldName, value: RecordValue)],
        _ operators: [(name: FieldName, change: FieldOperator)],
        of type: RecordTypeName,
        in catalog: SchemaCatalog
    ) throws(SkyrowError) {
        guard hasScopes else { return }
        for target in Self.targets(of: fields, operators, of: type, in: catalog) { try requireReading(target) }
    }

    /// The same for a new profile, where the key need not read records at all.
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

    /// The types that values refer to.
    private static func targets(
        of fields: [(name: FieldName, value: RecordValue)],
        _ operators: [(name: FieldName, change: FieldOperator)],
        of type: RecordTypeName,
        in catalog: SchemaCatalog
    ) -> [RecordTypeName] {
        let table = catalog[type]
        // Taking a reference away refers to no record.
        let values = fields.filter { $0.value != .null }
        return values.flatMap { [$0.value.fieldType?.target, table?[$0.name]?.type.target].compactMap(\.self) }
            + operators.flatMap { [$0.change.reference?.type, table?[$0.name]?.type.target].compactMap(\.self) }
    }

    /// The same for a change by predicate.
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
