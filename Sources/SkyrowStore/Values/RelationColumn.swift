package import SkyrowModel
package import SkyrowPostgres

/// `relation(type)`: a table with a row for each member, and a placeholder column without values in the type's table.
///
/// A check that is always true names the table of the members, as that of an array of references names their type
/// (Documentation/Decisions/relations-and-references.md).
package struct RelationColumn: ColumnType {
    package typealias Value = Bool

    let target: RecordTypeName

    package var sqlType: SQL { "boolean" }
    package var comment: String { "Stands for a relation; its members are in a table of their own." }
    /// Includes the table of the members with its two indexes, its keys and their triggers.
    package var locks: Int64 { 16 }
    package var indexes: [IndexKind] { [] }
    package var kind: RowPlan.Kind { .relation }
    package var kindName: String { target.rawValue }
    package var operators: OperatorFamily { .relation }

    package static func type(of column: CatalogRow.Column) -> FieldType? {
        guard column.oid == .bool, column.members != nil, let referred = column.referredType else { return nil }
        return (try? RecordTypeName(referred)).map { .relation($0) }
    }

    /// Every record has the relation, with or without members.
    package func selection(_ column: SQL, oid: PostgresOID) -> SQL { "true" }

    package func value(of value: RecordValue) -> Bool? { nil }

    package func typed(_ value: RecordValue) throws(FieldMisfit) -> RecordValue {
        if case .null = value {
            throw FieldMisfit("is a relation; change its members with \"relate\" and \"unrelate\"")
        }
        return value
    }

    package func admission(of value: RecordValue) -> FieldAdmission {
        value == .relation(target) ? .fits : .conflicts
    }

    /// A value that a client has read and sends back does not describe the members.
    package func accepted(_ value: RecordValue) throws(FieldMisfit) -> RecordValue? { nil }
}
