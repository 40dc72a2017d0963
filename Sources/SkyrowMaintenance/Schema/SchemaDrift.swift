package import SkyrowModel

/// A deviation of the database from what Skyrow would have made, usually caused by psql.
package struct SchemaDrift: Hashable, Sendable {
    package enum Fault: Hashable, Sendable {
        /// The comment is missing; Skyrow would write this one.
        case noComment(String)
        case reservedDefault(ReservedColumn)
        case reservedNull(ReservedColumn)
        case noPart(RecordTablePart)
        case noReferenceIndex
        case immediateForeignKey(String)
        case unvalidatedForeignKey(String)
        /// A column of type `integer`, `smallint` or `real` where Skyrow uses the wider type.
        case narrowColumn(String)
        case unsupportedType(String)
        case generated
        case required
        /// A column hidden from clients because its name is not a valid field name.
        case unreadableName(String)
        case invalidIndex(String)
        /// A table that has only some of the reserved columns and so is not a record type.
        case halfMade([ReservedColumn])
        /// Text columns with a linguistic collation that can be changed.
        case textOrder([String])
        /// The table has no replica identity, so the log does not identify changed rows.
        case noIdentity
    }

    /// The table's name.
    package var relation: String
    package var field: FieldName?
    package var fault: Fault

    package init(_ relation: String, _ fault: Fault, of field: FieldName? = nil) {
        self.relation = relation
        self.field = field
        self.fault = fault
    }

    /// `note.price`
    package var place: String { field.map { "\(relation).\($0)" } ?? relation }

    /// The key by which a schema file accepts the drift, such as `note.price:unsupported-type`.
    package var key: String {
        switch fault {
        case .noComment: "\(place):comment"
        case .reservedDefault(let column): "\(place).\(column.rawValue):default"
        case .reservedNull(let column): "\(place).\(column.rawValue):not-null"
        case .noPart(let part): "\(place):\(part.name)"
        case .noReferenceIndex: "\(place):index"
        case .immediateForeignKey(let name): "\(place):deferrable:\(name)"
        case .unvalidatedForeignKey(let name): "\(place):valid:\(name)"
        case .narrowColumn: "\(place):narrow"
        case .unsupportedType: "\(place):unsupported-type"
        case .generated: "\(place):generated"
        case .required: "\(place):required"
        case .unreadableName(let name): "\(place):name:\(name)"
        case .invalidIndex(let name): "\(place):invalid:\(name)"
        case .halfMade: "\(place):no-record-type"
        case .textOrder: "\(place):text-order"
        case .noIdentity: "\(place):replica-identity"
        }
    }

    /// The fault and its consequence.
    package var sentence: String {
        switch fault {
        case .noComment:
            "has no comment"
        case .reservedDefault(let column):
            "has \(column.rawValue) \(column.defaultValue.map { "without the default \($0)" } ?? "with a default"), so rows written "
                + "in psql lack values that records have"
        case .reservedNull(let column):
            "lets \(column.rawValue) be NULL, and no client can use such a row"
        case .noPart(let part):
            "lacks \(part.name): \(part.purpose)"
        case .noReferenceIndex:
            "has no index, so deleting a record it refers to reads the whole table"
        case .immediateForeignKey(let name):
            "has the foreign key \(name), which is not deferrable, so records that refer to each other cannot be saved together"
        case .unvalidatedForeignKey(let name):
            "has the foreign key \(name), which was never validated, so there may be dangling references"
        case .narrowColumn(let sqlType):
            "has the SQL type \(sqlType), which cannot hold all values that clients may save"
        case .unsupportedType(let sqlType):
            "has the SQL type \(sqlType), which clients can read as text but not write"
        case .generated:
            "is computed by PostgreSQL: clients can read it but not write it"
        case .required:
            "must not be NULL and has no default, so a save without it is refused, even of a record that has it"
        case .unreadableName(let name):
            "has the column \"\(name)\", which is hidden from clients, since a field's name is a letter followed by letters, "
                + "digits or underscores"
        case .invalidIndex(let name):
            "has the invalid index \(name), which is maintained but never used"
        case .halfMade(let missing):
            missing.isEmpty
                ? "is not a record type, since its reserved columns have other types"
                : "is not a record type, since it lacks \(missing.map(\.rawValue).joined(separator: ", "))"
        case .textOrder(let columns):
            "has text columns with another collation than \"C\" (\(columns.joined(separator: ", "))), so queries that compare or "
                + "sort them use no index"
        case .noIdentity:
            "has no replica identity, so live queries cannot follow its changes"
        }
    }
}
