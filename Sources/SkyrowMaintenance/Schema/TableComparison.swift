internal import SkyrowModel
import SkyrowStore

/// The comparison of one record table with its type; of an empty table for a new type.
struct TableComparison {
    let type: DocumentedType
    /// The type's new name.
    let name: RecordTypeName
    let table: InventoryTable
    /// The type's current name.
    let former: RecordTypeName
    /// Current type names to new ones.
    private let renamed: [RecordTypeName: RecordTypeName]

    private(set) var changes: [SchemaDifference.Change] = []
    private(set) var refusals: [String] = []
    /// The fields that stay: current names to new names.
    private(set) var keptFields: [FieldName: FieldName] = [:]
    /// Fields, by current name, that change their type, which also resolves their drift.
    private var converted: [FieldName: FieldConversion] = [:]
    /// References, by current name, that get another foreign key.
    private var rekeyed: Set<FieldName> = []
    /// Fields, by current name, or the type itself (nil), that get a comment.
    private var commented: Set<FieldName?> = []

    init(
        _ type: DocumentedType,
        named name: RecordTypeName,
        with table: InventoryTable,
        named former: RecordTypeName,
        renamed: [RecordTypeName: RecordTypeName]
    ) {
        self.type = type
        self.name = name
        self.table = table
        self.former = former
        self.renamed = renamed
    }

    mutating func add(_ change: SchemaFileChange, _ loss: SchemaLoss? = nil) {
        changes.append(SchemaDifference.Change(change: change, loss: loss))
    }

    mutating func refuse(_ sentence: String) {
        refusals.append(sentence)
    }

    /// Returns whether one of the changes resolves the drift.
    func settles(_ drift: SchemaDrift) -> Bool {
        if case .noComment = drift.fault { return commented.contains(drift.field) }
        guard let field = drift.field else { return false }
        switch drift.fault {
        case .immediateForeignKey, .unvalidatedForeignKey: if rekeyed.contains(field) { return true }
        default: break
        }
        guard let conversion = converted[field] else { return false }
        return switch drift.fault {
        case .narrowColumn, .unsupportedType, .noReferenceIndex, .immediateForeignKey, .unvalidatedForeignKey: true
        case .required: conversion.from == .sequence
        case .noComment, .reservedDefault, .reservedNull, .noPart, .generated, .unreadableName, .invalidIndex,
            .halfMade, .textOrder, .noIdentity:
            false
        }
    }

    // MARK: Fields

    mutating func compareFields() {
        let wanted = type.fields.sorted { $0.key < $1.key }
        for (field, documented) in wanted {
            if table.fields[field] != nil {
                keptFields[field] = field
            } else if let formerField = documented.renamedFrom, table.fields[formerField] != nil {
                rename(formerField, to: field)
            }
        }
        let formerNames = Dictionary(keptFields.map { ($0.value, $0.key) }) { first, _ in first }
        for (field, documented) in wanted {
            if let formerField = formerNames[field], let column = table.fields[formerField] {
                compare(documented, named: field, with: column, named: formerField)
            } else {
                create(documented, named: field)
            }
        }
        for field in table.fields.keys.sorted() where keptFields[field] == nil {
            if isAccountField(field) {
                keptFields[field] = field
            } else {
                let isRelation = table.fields[field]?.column.members != nil
                add(
                    .common(isRelation ? .deleteRelation(field, of: name) : .deleteField(field, of: name)),
                    .values(field, former)
                )
            }
        }
    }

    /// Returns whether accounts require the field.
    private func isAccountField(_ field: FieldName) -> Bool {
        TypeRules.builtIn(former).requiredFields.contains(field)
    }

    private mutating func rename(_ formerField: FieldName, to field: FieldName) {
        if isAccountField(formerField) {
            refuse("The field \(formerField) of user cannot be renamed: accounts use it.")
        } else if type.fields[formerField] != nil {
            refuse("\(name).\(field) is renamed from \(formerField), which is also in the file: keep one of them.")
        } else if let other = keptFields[formerField] {
            refuse("\(name).\(field) and \(name).\(other) are both renamed from \(formerField).")
        } else {
            keptFields[formerField] = field
            let isRelation = table.fields[formerField]?.column.members != nil
            add(
                .common(
                    isRelation
                        ? .renameRelation(formerField, to: field, of: name)
                        : .renameField(formerField, to: field, of: name)
                )
            )
        }
    }

    private mutating func create(_ wanted: DocumentedField, named field: FieldName) {
        if SchemaPlan.isSystemName(field) {
            refuse("\(name).\(field) cannot be created: PostgreSQL reserves that name.")
        } else if case .unknown(let sqlType) = wanted.type {
            refuse("\(name).\(field) has the SQL type \(sqlType), which can only be created in psql.")
        } else if wanted.isGenerated {
            refuse("\(name).\(field) is computed by PostgreSQL, which can only be created in psql.")
        } else {
            refuseCascade(wanted, field)
            let attributes = FieldAttributes(
                onDelete: wanted.onDelete,
                textLanguage: wanted.textLanguage,
                storesWords: wanted.storesWords
            )
            add(.common(.addField(field, wanted.type, attributes, to: name)))
            if let defaultValue = wanted.defaultValue { add(.setDefault(defaultValue, field, of: name)) }
            if let comment = wanted.comment { add(.setComment(comment, field, of: name)) }
        }
    }

    private mutating func compare(
        _ wanted: DocumentedField,
        named field: FieldName,
        with column: InventoryField,
        named formerField: FieldName
    ) {
        compareTextLanguage(wanted, named: field, with: column, named: formerField)
        let isConverted = convert(wanted, named: field, with: column, named: formerField)
        if !isConverted { compareDeleteRule(wanted, named: field, with: column, named: formerField) }
        if !column.isGenerated {
            let defaultValue = column.details.defaultValue
            let value = defaultValue.flatMap { RecordValue(defaultExpression: $0, type: column.type) }
            // A default that a file cannot express stays.
            let isSayable = defaultValue == nil || value != nil
            if isSayable || isConverted, (isConverted ? nil : value) != wanted.defaultValue {
                add(.setDefault(wanted.defaultValue, field, of: name))
            }
        }
        guard !isAccountField(formerField) else { return }
        compareComment(
            column.details.comment,
            with: wanted.comment,
            standards: (column.type.column.comment, wanted.type.column.comment),
            of: (formerField, field)
        )
    }

    /// Replaces a reference's foreign key if the file has another delete rule.
    private mutating func compareDeleteRule(
        _ wanted: DocumentedField,
        named field: FieldName,
        with column: InventoryField,
        named formerField: FieldName
    ) {
        guard case .reference(let target) = wanted.type, wanted.onDelete != column.column.onDelete else { return }
        refuseCascade(wanted, field)
        let keys = table.foreignKeys.filter { $0.field == formerField }.map(\.name)
        rekeyed.insert(formerField)
        add(.setDeleteRule(wanted.onDelete, field, to: target, replacing: keys, of: name))
    }

    /// Changes a text's language if the file has another one; removes it if the field changes its type.
    private mutating func compareTextLanguage(
        _ wanted: DocumentedField,
        named field: FieldName,
        with column: InventoryField,
        named formerField: FieldName
    ) {
        let isSame =
            wanted.textLanguage == column.column.textLanguage
            && wanted.storesWords == (column.column.storedWords != nil)
        guard !column.isGenerated, !isSame else { return }
        let checks = table.checks.filter { $0.languageOf == formerField }.map(\.name)
        add(.setTextLanguage(wanted.textLanguage, isStored: wanted.storesWords, field, replacing: checks, of: name))
    }

    private mutating func refuseCascade(_ wanted: DocumentedField, _ field: FieldName) {
        guard wanted.onDelete == .cascade, TypeRules.builtIn(name).origin == .accounts else { return }
        refuse("\(name).\(field) cannot cascade: profiles are deleted only with their accounts.")
    }

    /// Changes a column's type if the file has another one, and returns whether it does.
    private mutating func convert(
        _ wanted: DocumentedField,
        named field: FieldName,
        with column: InventoryField,
        named formerField: FieldName
    ) -> Bool {
        var known = column.type
        switch known {
        case .reference(let target): known = .reference(renamed[target] ?? target)
        case .array(.reference(let target)): known = .array(.reference(renamed[target] ?? target))
        case .relation(let target): known = .relation(renamed[target] ?? target)
        default: break
        }
        if case .unknown = wanted.type, case .unknown = known { return false }
        guard wanted.isGenerated == column.isGenerated else {
            refuse("\(name).\(field) is \(column.isGenerated ? "" : "not ")computed by PostgreSQL: change it in psql.")
            return false
        }
        guard known != wanted.type else { return false }
        guard !isAccountField(formerField) else {
            refuse("The field \(formerField) of user must keep its type: accounts use it.")
            return false
        }
        guard var conversion = FieldConversion(from: known, to: wanted.type), !column.isGenerated else {
            refuse(
                "\(name).\(field) has the type \(known.name) and cannot become \(wanted.type.name) in place: add a field "
                    + "with another name, copy the values to keep in psql, and delete this one."
            )
            return false
        }
        refuseCascade(wanted, field)
        conversion.hasDefault = column.details.defaultValue != nil
        conversion.onDelete = wanted.onDelete
        switch known {
        case .reference, .asset, .sequence:
            conversion.foreignKeys = table.foreignKeys.filter { $0.field == formerField }.map(\.name)
            let indexes = table.indexes.filter {
                RecordTablePart.isOfReferenceOrSequence($0) && $0.columns == [formerField.rawValue]
            }
            conversion.indexes = indexes.map(\.name)
        default: break
        }
        add(
            .convertField(field, conversion, of: name),
            conversion.isNarrowing ? .misfits(formerField, conversion, former) : nil
        )
        converted[formerField] = conversion
        return true
    }

    /// Sets the replica identity that the file asks for. A table without any is drift.
    mutating func compareLive() {
        guard let known = table.live, known != type.live else { return }
        add(.setLive(type.live, of: name))
    }

    /// Requests or drops the index of the type's changes.
    mutating func compareSync() {
        guard table.isFollowed != type.isFollowed else { return }
        add(.setSync(type.isFollowed, of: name))
    }

    // MARK: Comments

    mutating func compareComment() {
        // The default comment of the table `user` is never compared.
        guard former != .user || type.comment != nil else { return }
        compareComment(
            table.comment,
            with: type.comment,
            standards: (former.tableComment, name.tableComment),
            of: (nil, nil)
        )
    }

    /// Sets a comment that differs. A missing comment is drift, which is repaired with the current default.
    private mutating func compareComment(
        _ known: String?,
        with wanted: String?,
        standards: (now: String, then: String),
        of field: (now: FieldName?, then: FieldName?)
    ) {
        guard known != wanted ?? standards.then else { return }
        if known == nil, wanted == nil, standards.now == standards.then { return }
        add(.setComment(wanted ?? standards.then, field.then, of: name))
        commented.insert(field.now)
    }
}
