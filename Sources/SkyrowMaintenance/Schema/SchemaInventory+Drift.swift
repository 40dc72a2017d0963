internal import SkyrowModel
internal import SkyrowPostgres
import SkyrowStore

extension SchemaInventory {
    /// The deviations from what Skyrow would have made, table by table.
    package var drift: [SchemaDrift] {
        let ofTables = tables.sorted { $0.key < $1.key }.flatMap { $0.value.drift(as: $0.key) }
        let ofOthers = halfMade.sorted { $0.key < $1.key }.map { SchemaDrift($0.key, .halfMade($0.value)) }
        return ofTables + ofOthers
    }
}

extension InventoryTable {
    fileprivate func drift(as type: RecordTypeName) -> [SchemaDrift] {
        var faults: [SchemaDrift.Fault] = comment == nil ? [.noComment(type.tableComment)] : []
        for column in ReservedColumn.allCases {
            guard let made = reserved[column] else { continue }
            if made.defaultValue != column.defaultValue { faults.append(.reservedDefault(column)) }
            if column.isNotNull, !made.isNotNull { faults.append(.reservedNull(column)) }
        }
        faults += RecordTablePart.allCases.filter { !$0.isPresent(in: self) }.map { .noPart($0) }
        faults += otherColumns.map { .unreadableName($0) }
        if !unorderedTexts.isEmpty { faults.append(.textOrder(unorderedTexts)) }
        if live == nil { faults.append(.noIdentity) }
        faults += indexes.filter { !$0.isValid }.map { .invalidIndex($0.name) }
        return faults.map { SchemaDrift(type.rawValue, $0) }
            + fields.sorted { $0.key < $1.key }.flatMap { name, field in
                drift(of: field, named: name).map { SchemaDrift(type.rawValue, $0, of: name) }
            }
    }

    private func drift(of field: InventoryField, named name: FieldName) -> [SchemaDrift.Fault] {
        var faults: [SchemaDrift.Fault] = field.details.comment == nil ? [.noComment(field.type.column.comment)] : []
        if case .unknown = field.type {
            faults.append(.unsupportedType(field.sqlType))
        } else if field.isGenerated {
            faults.append(.generated)
        } else {
            // The sequence of a `serial` column has its own maximum, which widening the column does not change.
            let isNarrow = field.type != .sequence && [.int2, .int4, .float4].contains(field.column.oid)
            if isNarrow { faults.append(.narrowColumn(field.sqlType)) }
            let isFilled = field.details.defaultValue != nil || field.isIdentity
            if field.details.isNotNull, !isFilled { faults.append(.required) }
        }
        guard field.type.hasForeignKey else { return faults }
        if !indexes.contains(where: { answersReference($0, name) }) { faults.append(.noReferenceIndex) }
        for key in foreignKeys where key.field == name {
            if !key.isValidated { faults.append(.unvalidatedForeignKey(key.name)) }
            if !key.isDeferrable { faults.append(.immediateForeignKey(key.name)) }
        }
        return faults
    }

    /// Returns whether PostgreSQL can use the index to find the references to a record.
    private func answersReference(_ index: InventoryIndex, _ name: FieldName) -> Bool {
        guard index.isValid, index.columns.first == name.rawValue else { return false }
        return index.condition == nil || RecordTablePart.isOfReferenceOrSequence(index)
    }
}
