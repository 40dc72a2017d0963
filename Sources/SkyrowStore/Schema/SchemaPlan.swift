package import SkyrowModel

/// The changes that a request requires, in an order in which they can be made: types before fields, so that new types may refer
/// to each other.
package struct SchemaPlan: Hashable, Sendable {
    package private(set) var changes: [SchemaChange] = []

    private var newTypes: [RecordTypeName] = []
    private var newFields: [Field: FieldType] = [:]
    private var attributes: [Field: FieldAttributes] = [:]
    private var widened: Set<Field> = []

    private struct Field: Hashable {
        var type: RecordTypeName
        var name: FieldName
    }

    package var isEmpty: Bool { changes.isEmpty }

    /// Plans the changes that a request requires, given the schema in `catalog`.
    ///
    /// Throws `114 IncompatibleSchema` if a value or a type conflicts with the schema, or if a save requires a change in
    /// `production`; `108 InvalidArgument` for a reserved name; `110 ResourceNotFound` if the field to rename or delete is
    /// missing.
    package init(_ request: SchemaRequest, in catalog: SchemaCatalog, mode: SchemaMode) throws(SkyrowError) {
        switch request {
        case .save(let drafts): try planSaving(drafts, in: catalog, mode: mode)
        case .create(let types): try planCreating(types, in: catalog)
        case .rename(let field, let newName, let type): try planRenaming(field, newName, type, in: catalog)
        case .delete(let field, let type): try planDeleting(field, type, in: catalog)
        }
    }

    // MARK: Saving

    private mutating func planSaving(
        _ drafts: [RecordDraft],
        in catalog: SchemaCatalog,
        mode: SchemaMode
    ) throws(SkyrowError) {
        var references: [RecordTypeName: FieldName] = [:]
        for draft in drafts {
            let type = draft.id.type
            let table = catalog[type]
            if table == nil { try need(type, in: catalog) }
            for (name, value) in draft.fields {
                if let column = table?[name] {
                    try fit(value, into: column, of: type)
                } else if let wanted = value.fieldType {
                    try refuseParent(name, of: type)
                    try need(Field(type: type, name: name), wanted)
                    if let target = wanted.target { references[target] = name }
                }
            }
            // An operator that does not fit its field fails its record only (``BatchPlan``).
            for (name, change) in draft.operators {
                if let column = table?[name] {
                    guard case .development = mode, column.takesWidened(change) else { continue }
                    widened.insert(Field(type: type, name: name))
                } else if let wanted = change.fieldType {
                    try refuseParent(name, of: type)
                    try need(Field(type: type, name: name), wanted)
                    if let target = wanted.target { references[target] = name }
                }
            }
        }
        guard !newTypes.isEmpty || !newFields.isEmpty || !widened.isEmpty else { return }
        for (target, name) in references { try require(target, for: name, in: catalog) }
        if case .production = mode { throw frozen }
        settle()
    }

    private mutating func fit(
        _ value: RecordValue,
        into column: RecordColumn,
        of type: RecordTypeName
    ) throws(SkyrowError) {
        guard column.isWritable else {
            throw SkyrowError(
                .incompatibleSchema,
                "The field \(column.field) of \(type) is read-only; remove it from the record.",
                info: ["arguments": .list([.string(column.field.rawValue)])]
            )
        }
        switch column.type.admission(of: value) {
        case .fits: break
        case .fitsWidened: widened.insert(Field(type: type, name: column.field))
        case .conflicts:
            throw conflict(Field(type: type, name: column.field), column.type, value.fieldType ?? column.type)
        }
    }

    // MARK: Creating

    private mutating func planCreating(_ types: [RecordType], in catalog: SchemaCatalog) throws(SkyrowError) {
        for type in types {
            let table = catalog[type.name]
            if table == nil { try need(type.name, in: catalog) }
            for (name, wanted) in type.fields.sorted(by: { $0.key < $1.key }) {
                let field = Field(type: type.name, name: name)
                if name == .parent { try RecordType.checkParent(wanted, type.deleteRules[name]) }
                let rule = name == .parent ? .cascade : type.deleteRules[name]
                let language = type.textLanguages[name]
                let isStored = type.storedTexts.contains(name)
                guard language == nil || wanted == .string else {
                    throw .invalidArgument("Only a string can have \"text\".", "text")
                }
                if isStored { try RecordType.checkStored(language ?? .words) }
                if rule == .cascade, TypeRules.builtIn(type.name).origin == .accounts {
                    throw .invalidArgument(
                        "Profiles are only deleted with their accounts, so \(name) cannot cascade.",
                        "on_delete"
                    )
                }
                if let column = table?[name] {
                    guard column.type == wanted else { throw conflict(field, column.type, wanted) }
                    guard rule == nil || rule == column.onDelete else {
                        throw otherAttribute(field, "the rule \(column.onDelete.rawValue)")
                    }
                    let isSame = language == column.textLanguage && isStored == (column.storedWords != nil)
                    guard language == nil || isSame else {
                        let stored = column.storedWords == nil ? "" : ", stored"
                        throw otherAttribute(field, "the text \(column.textLanguage.rawValue)\(stored)")
                    }
                } else {
                    try need(field, wanted)
                    attributes[field] = FieldAttributes(
                        onDelete: rule ?? .restrict,
                        textLanguage: language ?? .words,
                        storesWords: isStored
                    )
                }
            }
        }
        for type in types {
            for (name, wanted) in type.fields {
                if let target = wanted.target { try require(target, for: name, in: catalog) }
            }
        }
        settle()
    }

    // MARK: Renaming and deleting

    private mutating func planRenaming(
        _ field: FieldName,
        _ newName: FieldName,
        _ type: RecordTypeName,
        in catalog: SchemaCatalog
    ) throws(SkyrowError) {
        let table = try requireField(field, type, in: catalog)
        guard field != .parent, newName != .parent else {
            throw .invalidArgument("The name _parent is reserved for the parent of records.", "item_name")
        }
        guard newName != .verified else { throw RecordType.verifiedIsKept }
        try refuseSystemName(newName)
        guard table[newName] == nil else {
            // Skygear's code for any reason against a rename.
            throw SkyrowError(.resourceNotFound, "The type \(type) already has a field \(newName).")
        }
        changes = [
            table.isRelation(field)
                ? .renameRelation(field, to: newName, of: type) : .renameField(field, to: newName, of: type)
        ]
    }

    private mutating func planDeleting(
        _ field: FieldName,
        _ type: RecordTypeName,
        in catalog: SchemaCatalog
    ) throws(SkyrowError) {
        let table = try requireField(field, type, in: catalog)
        changes = [table.isRelation(field) ? .deleteRelation(field, of: type) : .deleteField(field, of: type)]
    }

    private func requireField(
        _ field: FieldName,
        _ type: RecordTypeName,
        in catalog: SchemaCatalog
    ) throws(SkyrowError) -> RecordTable {
        guard let table = catalog[type], table[field] != nil else {
            throw SkyrowError(.resourceNotFound, "The type \(type) has no field \(field).")
        }
        if TypeRules.builtIn(type).requiredFields.contains(field) {
            throw .invalidArgument("The field \(field) of \(type) is required by accounts.", "item_name")
        }
        return table
    }

    // MARK: What is needed

    private mutating func need(_ type: RecordTypeName, in catalog: SchemaCatalog) throws(SkyrowError) {
        guard !newTypes.contains(type) else { return }
        guard !type.isPostgreSQLs else { throw .invalidArgument(RecordTypeName.refusal(ofPostgreSQLs: type)) }
        guard !catalog.otherNames.contains(type.rawValue) else {
            throw SkyrowError(
                .incompatibleSchema,
                "The database has a relation named \(type) that is not a record type; choose another name."
            )
        }
        newTypes.append(type)
    }

    private mutating func need(_ field: Field, _ wanted: FieldType) throws(SkyrowError) {
        try refuseSystemName(field.name)
        guard field.name != .verified else { throw RecordType.verifiedIsKept }
        guard let known = newFields[field] else {
            newFields[field] = wanted
            return
        }
        guard let both = known.joined(with: wanted) else { throw conflict(field, known, wanted) }
        newFields[field] = both
    }

    private func require(
        _ target: RecordTypeName,
        for field: FieldName,
        in catalog: SchemaCatalog
    ) throws(SkyrowError) {
        guard catalog[target] == nil, !newTypes.contains(target) else { return }
        throw SkyrowError(
            .incompatibleSchema,
            "The field \(field) refers to the type \(target), which does not exist; create it first or with it.",
            info: ["arguments": .list([.string(field.rawValue)])]
        )
    }

    private mutating func settle() {
        changes = newTypes.map { .createType($0) }
        let fields = newFields.sorted { ($0.key.type, $0.key.name) < ($1.key.type, $1.key.name) }
        changes += fields.map { field, type in
            .addField(field.name, type, attributes[field] ?? FieldAttributes(), to: field.type)
        }
        changes += widened.sorted { ($0.type, $0.name) < ($1.type, $1.name) }.map { .widenField($0.name, of: $0.type) }
    }

    // MARK: Refusals

    /// PostgreSQL gives each table columns with these names (its manual, 5.5).
    package static func isSystemName(_ name: FieldName) -> Bool {
        ["ctid", "xmin", "xmax", "cmin", "cmax", "tableoid"].contains(name.rawValue)
    }

    private func refuseSystemName(_ name: FieldName) throws(SkyrowError) {
        guard SchemaPlan.isSystemName(name) else { return }
        throw .invalidArgument("A field cannot be named \(name), which is reserved by PostgreSQL.", name.rawValue)
    }

    /// The schema defines a parent; a save cannot add one.
    private func refuseParent(_ name: FieldName, of type: RecordTypeName) throws(SkyrowError) {
        guard name == .parent else { return }
        throw SkyrowError(
            .incompatibleSchema,
            "Records of the type \(type) have no parent; add one with schema:create or a schema file.",
            info: ["arguments": .list([.string(name.rawValue)])]
        )
    }

    private func conflict(_ field: Field, _ known: FieldType, _ wanted: FieldType) -> SkyrowError {
        SkyrowError(
            .incompatibleSchema,
            "The field \(field.name) of \(field.type) is of the type \(known.name), not \(wanted.name).",
            info: ["arguments": .list([.string(field.name.rawValue)])]
        )
    }

    private func otherAttribute(_ field: Field, _ known: String) -> SkyrowError {
        SkyrowError(
            .incompatibleSchema,
            "The field \(field.name) of \(field.type) has \(known); change it with a schema file.",
            info: ["arguments": .list([.string(field.name.rawValue)])]
        )
    }

    private var frozen: SkyrowError {
        let advice = "this service only changes its schema by schema:create"
        if let type = newTypes.first {
            return SkyrowError(.incompatibleSchema, "The record type \(type) does not exist, and \(advice).")
        }
        let fields = (Array(newFields.keys) + Array(widened)).sorted { ($0.type, $0.name) < ($1.type, $1.name) }
        let names = Set(fields.map(\.name.rawValue)).sorted()
        return SkyrowError(
            .incompatibleSchema,
            "The fields \(names.joined(separator: ", ")) do not exist or cannot hold the values, and \(advice).",
            info: ["arguments": .list(names.map { .string($0) })]
        )
    }
}

extension RecordTable {
    fileprivate func isRelation(_ field: FieldName) -> Bool {
        if case .relation? = self[field]?.type { true } else { false }
    }
}

extension RecordTypeName {
    /// Whether a table of this name may be a system table of PostgreSQL, which is found before others.
    package var isPostgreSQLs: Bool { rawValue.hasPrefix("pg_") }

    package static func refusal(ofPostgreSQLs name: RecordTypeName) -> String {
        "The name \(name) is reserved by PostgreSQL: names of record types must not begin with 'pg_'."
    }
}
