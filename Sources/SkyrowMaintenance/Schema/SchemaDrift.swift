package import SkyrowModel

/// Something in the database that is otherwise than Skyrow would have made it, as a rule because psql did.
package struct SchemaDrift: Hashable, Sendable {
    package enum Fault: Hashable, Sendable {
        /// Skyrow's own sentence would be this one.
        case noComment(String)
        case reservedDefault(ReservedColumn)
        case reservedNull(ReservedColumn)
        case noPart(RecordTablePart)
        case noReferenceIndex
        case immediateForeignKey(String)
        case unvalidatedForeignKey(String)
        /// `integer`, `smallint` or `real` where Skyrow makes the longer one.
        case narrowColumn(String)
        case unsupportedType(String)
        case generated
        case required
        /// A column that no client sees, since its name is no field's.
        case unreadableName(String)
        case invalidIndex(String)
        /// A table that has only some of the reserved columns, and so is no record type.
        case halfMade([ReservedColumn])
        /// Text columns whose collation orders by the rules of a language, and can be given another.
        case textOrder([String])
        /// The log does not say which row was changed.
        case noIdentity
    }

    /// The name of the table.
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

    /// What a schema file names it by when it accepts it: `note.price:unsupported-type`.
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

    /// What is so, and what comes of it.
    package var sentence: String {
        switch fault {
        case .noComment:
            "has no comment"
        case .reservedDefault(let column):
            "has \(column.rawValue) \(column.defaultValue.map { "without the default \($0)" } ?? "with a default"), so rows written "
                + "in psql lack what records have"
        case .reservedNull(let column):
            "lets \(column.rawValue) be NULL, and no client can use such a row"
        case .noPart(let part):
            "lacks \(part.name): \(part.purpose)"
        case .noReferenceIndex:
            "has no index, so deleting a record it refers to reads the whole table"
        case .immediateForeignKey(let name):
            "has the foreign key \(name), which is not deferrable, so records that refer to each other cannot be saved together"
        case .unvalidatedForeignKey(let name):
            "has the foreign key \(name), which was never validated, so there may be references to nothing"
        case .narrowColumn(let sqlType):
            "is of the SQL type \(sqlType), which holds less than clients may save"
        case .unsupportedType(let sqlType):
            "is of the SQL type \(sqlType), which clients can read as text and not write"
        case .generated:
            "is computed by PostgreSQL: clients can read it and not write it"
        case .required:
            "must not be NULL and has no default, so a save without it is refused, even of a record that has it"
        case .unreadableName(let name):
            "has the column \"\(name)\", which no client sees, since a field's name is a letter followed by letters, digits "
                + "or underscores"
        case .invalidIndex(let name):
            "has the invalid index \(name), which is kept up and never used"
        case .halfMade(let missing):
            missing.isEmpty
                ? "is no record type, since its reserved columns have other types"
                : "is no record type, since it lacks \(missing.map(\.rawValue).joined(separator: ", "))"
        case .textOrder(let columns):
            "has text in another order than that of bytes (\(columns.joined(separator: ", "))), so queries that compare or sort "
                + "it use no index"
        case .noIdentity:
            "has no replica identity, so live queries cannot follow its changes"
        }
    }
}
