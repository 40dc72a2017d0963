internal import SkyrowModel

/// Upper bound on the joins of a query.
package let maximumJoinsOfAQuery = 16
/// Upper bounds on the references and the JSON steps of a key path.
let maximumReferencesOfAPath = 8
package let maximumJSONStepsOfAPath = 16

extension Resolver {
    /// Resolves a path to a column: a field of the record, of one behind references, or a value inside a JSON field.
    ///
    /// Throws `120 RecordQueryInvalid` for an unknown name, for a path through a field that is neither a reference nor JSON,
    /// and for one that is too long; `124 RecordQueryDenied` for a field that is hidden from the caller.
    mutating func column(_ path: KeyPath) throws(SkyrowError) -> ResolvedColumn {
        let names = names(of: path)
        switch start {
        case .value(let element): return try element.element(at: names, path)
        case .listedRecord where names.isEmpty: return try idColumn.asked(for: path)
        case .record, .listedRecord: break
        }
        var join: Int?
        // Reuses the prefix that `list(on:)` has resolved for the same path.
        let known = walked?.path == path ? walked : nil
        for place in (known?.place ?? names.startIndex)..<names.endIndex {
            let column: ResolvedColumn =
                if let known { known.column } else { try self.column(names[place], behind: join, path) }
            if place == names.endIndex - 1 { return try column.asked(for: path) }
            if column.kind == .json { return try column.inside(Array(names[(place + 1)...]), path) }
            join = try self.join(column, named: names[...place], for: path)
        }
        throw .recordQueryInvalid("A key path must have a name.", path)
    }

    /// Returns the names of a path without `$`, which stands for the element that the path starts at.
    private func names(of path: KeyPath) -> ArraySlice<String> {
        switch start {
        case .record: path.components[...]
        case .listedRecord, .value:
            path.components.first == KeyPath.element ? path.components.dropFirst() : path.components[...]
        }
    }

    /// Returns the first array of references or relation that a path leads through, and the rest of the path, which is empty if
    /// the path ends at a relation; nil for a path to a single record.
    ///
    /// Throws as ``column(_:)`` does for the names up to there.
    mutating func list(on path: KeyPath) throws(SkyrowError) -> (column: ResolvedColumn, rest: KeyPath)? {
        if case .value = start { return nil }
        let names = names(of: path)
        // Most paths have one name, which leads further only if it is a relation.
        guard names.count > 1 || root.hasRelations else { return nil }
        return try list(on: path, names, endsAtArray: false)
    }

    /// The same for a path that may end at an array.
    mutating func hop(on path: KeyPath) throws(SkyrowError) -> (column: ResolvedColumn, rest: KeyPath)? {
        try list(on: path, path.components[...], endsAtArray: true)
    }

    private mutating func list(
        on path: KeyPath,
        _ names: ArraySlice<String>,
        endsAtArray: Bool
    ) throws(SkyrowError) -> (column: ResolvedColumn, rest: KeyPath)? {
        var join: Int?
        for place in names.indices {
            let column = try column(names[place], behind: join, path)
            let isLast = place == names.endIndex - 1
            switch column.kind {
            case .relation: return (column, path.dropping(place + 1))
            case .array(.reference) where endsAtArray || !isLast: return (column, path.dropping(place + 1))
            default: break
            }
            guard column.kind.target != nil, !isLast else {
                walked = Walk(path: path, place: place, column: column)
                return nil
            }
            join = try self.join(column, named: names[...place], for: path)
        }
        return nil
    }

    /// The id column of the record that the condition is on.
    var idColumn: ResolvedColumn {
        ResolvedColumn(
            place: .metadata(.id),
            kind: .id(root.name),
            idForms: rootIDForms,
            collation: root.collation(of: .id)
        )
    }

    /// Returns whether a path leads through references to an existing record type; false for an unknown name.
    ///
    /// Throws `124 RecordQueryDenied` for a field that is hidden from the caller.
    mutating func isReference(_ path: KeyPath) throws(SkyrowError) -> Bool {
        do throws(SkyrowError) {
            let column = try column(path)
            guard let target = column.kind.target else { return false }
            return try type(target) != nil
        } catch {
            guard error.code == .recordQueryInvalid else { throw error }
            return false
        }
    }

    /// Joins the target of a path's last reference; returns the index of the join.
    mutating func join(_ path: KeyPath) throws(SkyrowError) -> Int {
        var join: Int?
        for (place, name) in path.components.enumerated() {
            join = try self.join(try column(name, behind: join, path), named: path.components[...place], for: path)
        }
        guard let join else { throw .recordQueryInvalid("A key path must have a name.", path) }
        return join
    }

    /// Joins the target of a reference, once for all paths that begin with the same names.
    private mutating func join(
        _ reference: ResolvedColumn,
        named names: ArraySlice<String>,
        for path: KeyPath
    ) throws(SkyrowError) -> Int {
        guard let target = reference.kind.target else {
            if reference.kind.listTarget != nil {
                throw .recordQueryInvalid(
                    "A key path that leads to several records can only be used in a predicate.",
                    path
                )
            }
            throw .recordQueryInvalid("A key path can only lead through references and into JSON.", path)
        }
        // The same names may lead through different references: a predicate and an inclusion may see them in different records.
        if let known = joined.indices.first(where: { joined[$0].names == names && joins[$0].reference == reference }) {
            return known
        }
        guard let type = try self.type(target) else {
            throw .recordQueryInvalid("The type of the reference does not exist.", path)
        }
        guard names.count <= maximumReferencesOfAPath else {
            throw .recordQueryInvalid("A key path can follow at most \(maximumReferencesOfAPath) references.", path)
        }
        guard joinsElsewhere + joins.count < maximumJoinsOfAQuery else {
            throw .recordQueryInvalid("A query can follow at most \(maximumJoinsOfAQuery) references.", path)
        }
        joins.append(ResolvedJoin(reference: reference, target: target, idCollation: type.collation(of: .id)))
        joined.append((names, type))
        return joins.count - 1
    }

    /// Returns a column of the record that the condition is on, or of a joined one.
    private func column(_ name: String, behind join: Int?, _ path: KeyPath) throws(SkyrowError) -> ResolvedColumn {
        guard let join else { return try column(name, of: root, join: nil, ids: rootIDForms, path) }
        return try column(name, of: joined[join].type, join: join, ids: targetIDForms, path)
    }

    private func column(
        _ name: String,
        of type: Schema.RecordType,
        join: Int?,
        ids: StoredIDForms,
        _ path: KeyPath
    ) throws(SkyrowError) -> ResolvedColumn {
        if type.hasMetadata, let metadata = ReservedColumn(keyPath: name) {
            return ResolvedColumn(
                join: join,
                place: .metadata(metadata),
                kind: metadata.kind(in: type.name),
                idForms: ids,
                collation: type.collation(of: metadata)
            )
        }
        guard let name = try? FieldName(name) else {
            throw .recordQueryInvalid(SkyrowError.unknownFieldMessage, path)
        }
        guard let field = type.askedField(name) else {
            if type.isHidden(name) { throw .recordQueryDenied(path.description) }
            throw .recordQueryInvalid(SkyrowError.unknownFieldMessage, path)
        }
        var column = ResolvedColumn(
            join: join,
            place: .field(name, position: field.position),
            kind: ValueKind(field.type),
            idForms: targetIDForms,
            collation: field.collation,
            language: field.language
        )
        if let type = field.jsonType { column = column.reading(type, at: []) }
        let asking = asking == .equal && !field.isScalar ? .compare : asking
        let standing = type.standing(asking, of: name, for: access.fields)
        if standing.isAlways { return column }
        // For any purpose, the field is missing in other records.
        guard !standing.isNever, let user = access.fields.user else { throw .recordQueryDenied(path.description) }
        column.limit = ResolvedColumn.Limit(user: user, reach: standing)
        return column
    }

    private var rootIDForms: StoredIDForms {
        // A subquery returns possible targets of references: records of the reader's database and public ones.
        guard subqueryDepth == 0, case .record = start else { return targetIDForms }
        return switch access.database {
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

extension QueryField {
    /// Whether comparisons apply to the field's whole value.
    fileprivate var isScalar: Bool {
        switch type {
        case .json, .array, .relation: false
        default: true
        }
    }
}

extension ResolvedColumn {
    /// Returns the value inside a JSON column; throws `120 RecordQueryInvalid` for an invalid step.
    fileprivate func inside(_ steps: [String], _ path: KeyPath) throws(SkyrowError) -> ResolvedColumn {
        guard steps.count <= maximumJSONStepsOfAPath else {
            throw .recordQueryInvalid("A key path can go at most \(maximumJSONStepsOfAPath) steps into JSON.", path)
        }
        for step in steps {
            guard !step.isSignedOrPaddedNumber, !step.hasNUL else {
                throw .recordQueryInvalid("A step into JSON must be a name or a number from 0.", path)
            }
        }
        if let type = path.jsonType { return reading(type, at: steps) }
        var column = self
        column.reading = .inside(steps)
        return column
    }

    /// Returns the column of a path that starts at this element.
    fileprivate func element(at steps: ArraySlice<String>, _ path: KeyPath) throws(SkyrowError) -> ResolvedColumn {
        if kind == .json { return try inside(Array(steps), path) }
        guard steps.isEmpty else {
            throw .recordQueryInvalid("The elements of this array have no names; \"$\" is the element itself.", path)
        }
        return try asked(for: path)
    }

    /// Returns the column in the type that the end of a path requests.
    fileprivate func asked(for path: KeyPath) throws(SkyrowError) -> ResolvedColumn {
        guard let type = path.jsonType else { return self }
        guard kind == .json else { throw .recordQueryInvalid("\"$as\" is only for values inside JSON.", path) }
        return reading(type, at: [])
    }
}

extension String {
    /// Whether PostgreSQL reads the text as a number with more than digits, such as one that counts from an array's end.
    fileprivate var isSignedOrPaddedNumber: Bool {
        guard utf8.last.map({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) ?? false else { return false }
        let rest = utf8.drop { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard !rest.isEmpty else { return false }
        let unsigned = utf8.drop { !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        return unsigned.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            && utf8.prefix(utf8.count - unsigned.count).allSatisfy {
                $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: " ") || (9...13).contains($0)
            }
    }
}
