internal import SkyrowModel

/// How many records a query may join to one.
package let maximumJoinsOfAQuery = 16

extension Resolver {
    /// The column of a path of one or two components.
    ///
    /// Throws `120 RecordQueryInvalid` for a name that does not exist, a path through what is no reference, and a path
    /// of three or more components; `124 RecordQueryDenied` for a field that is hidden from the caller.
    mutating func column(_ path: KeyPath) throws(SkyrowError) -> ResolvedColumn {
        switch path.components.count {
        case 1:
            return try rootColumn(path.components[0], path)
        case 2:
            let join = try join(path.components[0], for: path)
            return try column(path.components[1], of: joined[join].type, join: join, ids: targetIDForms, path)
        default:
            throw .recordQueryInvalid("A key path has at most two components.", path)
        }
    }

    /// The column of the id of the record that is asked about.
    var idColumn: ResolvedColumn {
        ResolvedColumn(
            place: .metadata(.id),
            kind: .id(root.name),
            idForms: rootIDForms,
            collation: root.collation(of: .id)
        )
    }

    /// Whether a path of one component is a reference to records that there may be; false for an unknown name.
    ///
    /// Throws `124 RecordQueryDenied` for a field that is hidden from the caller.
    func isReference(_ path: KeyPath) throws(SkyrowError) -> Bool {
        do throws(SkyrowError) {
            let column = try rootColumn(path.components[0], path)
            return column.kind.target.map { schema[$0] != nil } ?? false
        } catch {
            guard error.code == .recordQueryInvalid else { throw error }
            return false
        }
    }

    /// Joins the record that a reference of the type leads to, once; the number of the join.
    mutating func join(_ name: String, for path: KeyPath) throws(SkyrowError) -> Int {
        let reference = try rootColumn(name, path)
        guard let target = reference.kind.target else {
            throw .recordQueryInvalid("A key path may lead through references only.", path)
        }
        if let known = joined.firstIndex(where: { $0.name == name }) { return known }
        guard let type = schema[target] else {
            throw .recordQueryInvalid("The type of the reference does not exist.", path)
        }
        guard joins.count < maximumJoinsOfAQuery else {
            throw .recordQueryInvalid("A query may follow at most \(maximumJoinsOfAQuery) references.", path)
        }
        joins.append(ResolvedJoin(reference: reference, target: target, idCollation: type.collation(of: .id)))
        joined.append((name, type))
        return joins.count - 1
    }

    private func rootColumn(_ name: String, _ path: KeyPath) throws(SkyrowError) -> ResolvedColumn {
        try column(name, of: root, join: nil, ids: rootIDForms, path)
    }

    private func column(
        _ name: String,
        of type: Schema.RecordType,
        join: Int?,
        ids: StoredIDForms,
        _ path: KeyPath
    ) throws(SkyrowError) -> ResolvedColumn {
        if let metadata = MetadataField(keyPath: name) {
            return ResolvedColumn(
                join: join,
                place: .metadata(metadata),
                kind: metadata.kind(in: type.name),
                idForms: ids,
                collation: type.collation(of: metadata)
            )
        }
        guard let name = try? FieldName(name) else {
            throw .recordQueryInvalid("There is no such field in this record type.", path)
        }
        guard let field = type.queryField(name) else {
            if type.isHidden(name) { throw .recordQueryDenied(path.description) }
            throw .recordQueryInvalid("There is no such field in this record type.", path)
        }
        var column = ResolvedColumn(
            join: join,
            place: .field(name, position: field.position),
            kind: ValueKind(field.type),
            idForms: targetIDForms,
            collation: field.collation
        )
        if type.isVisibleToOwnerOnly(name, of: access.fields) {
            // As absent from the records of others, whatever is asked about it.
            guard let user = access.fields.user else { throw .recordQueryDenied(path.description) }
            column.onlyOwner = user
        }
        return column
    }

    private var rootIDForms: StoredIDForms {
        switch access.database {
        case .everyone: .plain
        case .user: .prefixed(StoredID.prefix(of: access.database))
        case .union: .any
        }
    }

    private var targetIDForms: StoredIDForms {
        switch access.database {
        case .everyone: .plain
        case .user: .either(StoredID.prefix(of: access.database))
        case .union: .any
        }
    }
}
