package import SkyrowModel
package import SkyrowQuery

extension SchemaCatalog: QuerySchema {}

extension RecordTable: QueryRecordType {
    package func queryField(_ name: FieldName) -> QueryField? {
        guard let position = position(of: name) else { return nil }
        let column = columns[position]
        return QueryField(
            position: position,
            type: column.type,
            collation: column.collation,
            language: column.textLanguage
        )
    }

    package var fieldPositions: [Int] { Array(columns.indices) }

    package var referenceFields: [FieldName] {
        columns.compactMap { if case .reference = $0.type { $0.field } else { nil } }
    }

    package var classRules: ClassRules? { rules.classes }

    package func isHidden(_ name: FieldName) -> Bool {
        hidden.contains(name)
    }

    package func standing(_ asking: FieldAsking, of name: FieldName, for reader: FieldAccess) -> FieldStanding {
        rules.fields.standing(asking, of: name, for: reader)
    }

    package func collation(of field: MetadataField) -> TextCollation {
        reservedCollations[ReservedColumn(field)] ?? .bytes
    }
}
