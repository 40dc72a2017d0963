package import SkyrowJSON
package import SkyrowModel
package import SkyrowPostgres

/// What the store does with the fields of one type: their columns, what these take, and how values get there and back.
///
/// Each type is one file beside this one; `FieldType+Column.swift` lists them all. What most types have in common follows
/// from ``value(of:)`` and ``kind``.
package protocol ColumnType: Sendable {
    /// What a value is for the client of PostgreSQL.
    associatedtype Value: PostgresArrayElement

    // MARK: Columns

    /// The type of a new column: `text COLLATE "C"`.
    var sqlType: SQL { get }
    /// What Skyrow says of such a column in the database.
    var comment: String { get }
    /// What stands behind the type of a new column, such as a foreign key.
    func constraint(of column: SQLIdentifier, in schema: SQLIdentifier) throws -> SQL?
    /// Whether that is a check, which PostgreSQL makes on all rows; a foreign key asks nothing of rows without a value.
    var constraintIsCheck: Bool { get }
    /// The index that a new column gets; nil for none.
    func index(on column: SQLIdentifier, of table: SQL) -> SQL?
    /// About how many locks it takes to add a column.
    var locks: Int64 { get }
    /// Whether a column in the database is one of this type.
    static func type(of column: CatalogRow.Column) -> FieldType?

    // MARK: Rows

    /// What its values are in a row.
    var kind: RowPlan.Kind { get }
    /// The name that goes with the kind: of a reference, the type that it is to.
    var kindName: String { get }
    /// The column as a statement selects it: in the type that its kind is read from, whatever psql made it.
    func selection(_ column: SQL, oid: PostgresOID) -> SQL

    // MARK: Values

    /// How texts become values of the type; nil where they are taken as they are, or not at all.
    var textCast: TextCast? { get }
    /// What the type makes of a value whose wire form does not say its type: of a text, and of the elements of an array.
    ///
    /// Throws ``FieldMisfit`` for one that is no value of the type.
    func typed(_ value: RecordValue) throws(FieldMisfit) -> RecordValue
    /// What a statement makes of a value that it was given before the column takes it.
    func input(_ value: SQL) -> SQL
    /// A value that was accepted, as the column takes it; nil for NULL.
    func value(of value: RecordValue) -> Value?
    /// Whether a column takes a value, which is not `null`, as it is.
    func admission(of value: RecordValue) -> FieldAdmission
    /// The value as a column takes it; nil leaves the column alone. Throws ``FieldMisfit`` for one that does not fit.
    func accepted(_ value: RecordValue) throws(FieldMisfit) -> RecordValue?
    /// The type that holds what this and another one hold; nil when there is none.
    func joined(with other: FieldType) -> FieldType?
    /// Whether a column takes a value exactly as a client sent it, as most values are: none of ``typed(_:)``, ``admission(of:)`` and
    /// ``accepted(_:)`` refuses or changes it, and there is no id in it. These have to be asked where it is false.
    func takesAsSent(_ value: RecordValue) -> Bool
    /// Which operators its fields take, beside those that all fields take.
    var operators: OperatorFamily { get }
    /// Binds the values in a place of some writes of one shape: one, or an array of several.
    ///
    /// A requirement although all types have the same, so that each has code for its own values.
    func bind(_ group: WriteGroup, at place: Int, to bindings: inout PostgresBindings)

    // MARK: COPY

    /// Whether a column of some PostgreSQL type is wide enough for a value that was accepted.
    func fits(_ value: RecordValue, in oid: PostgresOID) -> Bool
    /// Appends a value that was accepted, with its length before it, as its column's type is received.
    func encode(_ value: RecordValue, as oid: PostgresOID, into encoder: inout PostgresEncoder)

    // MARK: Schema files

    /// The text between the quotes of a column's default; nil for a value that can be none.
    func defaultText(_ value: RecordValue) -> String?
    /// The value of a default's text; nil for one that a schema file cannot say.
    func value(ofDefault text: String) -> RecordValue?
    /// How a field of another type becomes one of this; nil when PostgreSQL is not to be asked to do it.
    func conversion(from other: FieldType) -> ColumnConversion?
}

extension ColumnType {
    package static func type(of column: CatalogRow.Column) -> FieldType? { nil }
    package func constraint(of column: SQLIdentifier, in schema: SQLIdentifier) throws -> SQL? { nil }
    package var constraintIsCheck: Bool { false }
    package func index(on column: SQLIdentifier, of table: SQL) -> SQL? { nil }
    package var locks: Int64 { 1 }
    package var kindName: String { "" }
    package func selection(_ column: SQL, oid: PostgresOID) -> SQL {
        oid == kind.oid ? column : "\(column)::\(kind.sqlType)"
    }
    package var textCast: TextCast? { nil }
    package func typed(_ value: RecordValue) throws(FieldMisfit) -> RecordValue {
        guard case .string(let text) = value, let cast = textCast else { return value }
        guard let value = cast.value(of: text) else { throw FieldMisfit(cast.misfit) }
        return value
    }
    package func input(_ value: SQL) -> SQL { value }
    package func admission(of value: RecordValue) -> FieldAdmission {
        self.value(of: value) == nil ? .conflicts : .fits
    }
    package func accepted(_ value: RecordValue) throws(FieldMisfit) -> RecordValue? { value }
    package func takesAsSent(_ value: RecordValue) -> Bool { false }
    package func joined(with other: FieldType) -> FieldType? { nil }
    package var operators: OperatorFamily { .none }
    package func fits(_ value: RecordValue, in oid: PostgresOID) -> Bool { true }
    package func encode(_ value: RecordValue, as oid: PostgresOID, into encoder: inout PostgresEncoder) {
        encoder.append(field: self.value(of: value))
    }
    package func defaultText(_ value: RecordValue) -> String? { nil }
    package func value(ofDefault text: String) -> RecordValue? { nil }
    package func conversion(from other: FieldType) -> ColumnConversion? { nil }

    /// The definition of a new column.
    package func definition(of column: SQLIdentifier, in schema: SQLIdentifier) throws -> SQL {
        guard let constraint = try constraint(of: column, in: schema) else { return sqlType }
        return "\(sqlType) \(constraint)"
    }

    package func bind(_ group: WriteGroup, at place: Int, to bindings: inout PostgresBindings) {
        bindings.append(each: group.count) { value(of: group.writes[group.positions[$0]].values[place]) }
    }

    /// Binds a value that was accepted.
    func bind(_ value: RecordValue, to bindings: inout PostgresBindings) {
        bindings.append(self.value(of: value))
    }

    /// A value that was accepted, as a parameter of a statement.
    func parameter(_ value: RecordValue) -> SQL {
        var sql = SQL()
        sql.bind(self.value(of: value))
        return input(sql)
    }
}

extension PostgresBindings {
    /// Appends a value for each of some writes, nil for NULL: one as it is, several as an array.
    mutating func append<Value: PostgresArrayElement>(each count: Int, _ value: (Int) -> Value?) {
        func encode(_ index: Int, _ encoder: inout PostgresEncoder) throws(PostgresError) -> Bool {
            guard let value = value(index) else { return false }
            try value.encode(into: &encoder)
            return true
        }
        if count == 1 {
            append(Value.postgresType) { encoder throws(PostgresError) in try encode(0, &encoder) }
        } else {
            append(array: Value.postgresArrayType, of: Value.postgresType, count: count, encode)
        }
    }
}

/// Why a field does not take a value; a clause that follows the field's name, such as "holds integers".
package struct FieldMisfit: Error, Hashable, Sendable {
    package var reason: String
    /// The place of the element of an array that is to blame.
    package var element: Int?

    package init(_ reason: String, element: Int? = nil) {
        self.reason = reason
        self.element = element
    }
}

/// How a field becomes one of another type.
package struct ColumnConversion: Sendable {
    /// Whether a value of the column can become one of the new type; nil when all can.
    package var condition: (@Sendable (_ column: SQL, _ schema: SQLIdentifier) throws -> SQL)?
    /// What becomes of a value that cannot, still in the old type; nil for NULL.
    package var replacement: (@Sendable (_ column: SQL) -> SQL)?
    /// Whether PostgreSQL gives the column another type.
    package var changesColumn = true

    package static let lossless = ColumnConversion()

    /// Values for which the condition does not hold become what takes their place, NULL where nothing does.
    package static func keeping(
        _ condition: @escaping @Sendable (SQL) -> SQL,
        replacing replacement: (@Sendable (SQL) -> SQL)? = nil
    ) -> ColumnConversion {
        ColumnConversion(condition: { column, _ in condition(column) }, replacement: replacement)
    }
}
