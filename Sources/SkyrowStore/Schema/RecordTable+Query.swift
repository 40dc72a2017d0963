package import SkyrowModel
package import SkyrowQuery

extension SchemaCatalog: QuerySchema {}

extension RecordTable: QueryRecordType {
    package func queryField(_ name: FieldName) -> QueryField? {
        position(of: name).map { queryField(at: $0) }
    }

    package func askedField(_ name: FieldName) -> QueryField? {
        if let field = queryField(name) { return field }
        return unsent.firstIndex { $0.field == name }.map { queryField(at: columns.count + $0) }
    }

    private func queryField(at position: Int) -> QueryField {
        let column = column(at: position)
        return QueryField(
            position: position,
            type: column.type,
            collation: column.collation,
            language: column.textLanguage
        )
    }

    /// The columns of all fields that a query may name.
    var askedColumns: [RecordColumn] { columns + unsent }

    /// The column of a field that a query names, at the position from ``askedField(_:)``.
    package func column(at position: Int) -> RecordColumn {
        position < columns.count ? columns[position] : unsent[position - columns.count]
    }

    package var fieldPositions: [Int] { Array(columns.indices) }

    package var referenceFields: [FieldName] {
        columns.compactMap { if case .reference = $0.type { $0.field } else { nil } }
    }

    package var classRules: ClassRules? { rules.classes }

    package func isHidden(_ name: FieldName) -> Bool {
        hidden.contains(name)
    }

    package func standing(_ asking: FieldAsking, of name: FieldName, for reader: FieldAccess) -> AccessCondition {
        viewStanding(of: name, for: reader) ?? rules.fields.standing(asking, of: name, for: reader)
    }

    package func collation(of column: ReservedColumn) -> TextCollation {
        reservedCollations[column] ?? .bytes
    }
}
