package import SkyrowJSON
package import SkyrowModel
package import SkyrowPostgres

/// How the store handles the fields of one type: columns, accepted values, and conversion in both directions.
///
/// Each type is a file beside this one; `FieldType+Column.swift` lists them. Defaults are derived from ``value(of:)`` and
/// ``kind``.
package protocol ColumnType: Sendable {
    /// The type of a value in the PostgreSQL client.
    associatedtype Value: PostgresArrayElement

    // MARK: Columns

    /// The type of a new column: `text COLLATE "C"`.
    var sqlType: SQL { get }
    /// The comment of such a column in the database.
    var comment: String { get }
    /// The constraint after the type of a new column, such as a foreign key.
    func constraint(of column: SQLIdentifier, in schema: SQLIdentifier) throws -> SQL?
    /// Whether the constraint is a check, which PostgreSQL evaluates for all rows; a foreign key skips rows without a value.
    var constraintIsCheck: Bool { get }
    /// The index of a new column; nil for none.
    func index(on column: SQLIdentifier, of table: SQL) -> SQL?
    /// The kinds of indexes that its fields can have.
    var indexes: [IndexKind] { get }
    /// The approximate number of locks for adding a column.
    var locks: Int64 { get }
    /// Returns the field type of a column in the database; nil for other types.
    static func type(of column: CatalogRow.Column) -> FieldType?

    // MARK: Rows

    /// The kind of its values in a row.
    var kind: RowPlan.Kind { get }
    /// The name that goes with the kind: for a reference, its target type.
    var kindName: String { get }
    /// The column as statements select it: cast to the type that its kind is read from, whichever psql gave it.
    func selection(_ column: SQL, oid: PostgresOID) -> SQL

    // MARK: Values

    /// Converts texts to values of the type; nil if texts are taken as they are, or not at all.
    var textCast: TextCast? { get }
    /// Returns the typed form of a value whose wire form does not determine its type: a text, or the elements of an array.
    ///
    /// Throws ``FieldMisfit`` for a value of another type.
    func typed(_ value: RecordValue) throws(FieldMisfit) -> RecordValue
    /// Converts a parameter in a statement before it is stored.
    func input(_ value: SQL) -> SQL
    /// Returns an accepted value in the form of the column; nil for NULL.
    func value(of value: RecordValue) -> Value?
    /// Returns whether a column takes a value other than `null` unchanged.
    func admission(of value: RecordValue) -> FieldAdmission
    /// Returns the value in the form of the column; nil leaves the column unchanged. Throws ``FieldMisfit`` if it does not fit.
    func accepted(_ value: RecordValue) throws(FieldMisfit) -> RecordValue?
    /// Returns the type that holds the values of this type and of another one; nil without such a type.
    func joined(with other: FieldType) -> FieldType?
    /// Returns whether a column stores a value exactly as a client sent it, like most values: none of ``typed(_:)``,
    /// ``admission(of:)`` and ``accepted(_:)`` refuses or changes it, and it contains no id. If false, these have to be called.
    func takesAsSent(_ value: RecordValue) -> Bool
    /// The operators of its fields, in addition to those of all fields.
    var operators: OperatorFamily { get }
    /// Binds the values of one column for writes of one shape: a single value, or an array.
    ///
    /// A requirement although all types have the same implementation, so that each is specialized for its values.
    func bind(_ group: WriteGroup, at place: Int, to bindings: inout PostgresBindings)

    // MARK: COPY

    /// Returns whether a column of a PostgreSQL type is wide enough for an accepted value.
    func fits(_ value: RecordValue, in oid: PostgresOID) -> Bool
    /// Appends an accepted value with its length, in the binary input format of its column's type.
    func encode(_ value: RecordValue, as oid: PostgresOID, into encoder: inout PostgresEncoder)

    // MARK: Schema files

    /// The text between the quotes of a column's default; nil for a value that cannot be a default.
    func defaultText(_ value: RecordValue) -> String?
    /// The value of a default's text; nil for one that schema files cannot express.
    func value(ofDefault text: String) -> RecordValue?
    /// How to convert a field of another type to this one; nil if PostgreSQL must not be asked to do it.
    func conversion(from other: FieldType) -> ColumnConversion?
}

extension ColumnType {
    package static func type(of column: CatalogRow.Column) -> FieldType? { nil }
    package func constraint(of column: SQLIdentifier, in schema: SQLIdentifier) throws -> SQL? { nil }
    package var constraintIsCheck: Bool { false }
    package func index(on column: SQLIdentifier, of table: SQL) -> SQL? { nil }
    package var indexes: [IndexKind] { [.order] }
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

    /// Binds an accepted value.
    func bind(_ value: RecordValue, to bindings: inout PostgresBindings) {
        bindings.append(self.value(of: value))
    }

    /// Returns an accepted value as a parameter of a statement.
    func parameter(_ value: RecordValue) -> SQL {
        var sql = SQL()
        sql.bind(self.value(of: value))
        return input(sql)
    }
}

extension PostgresBindings {
    /// Appends a value for each of some writes, nil for NULL: a single one as it is, several as an array.
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

/// Why a field does not take a value: a clause that follows the field's name, such as "holds integers".
package struct FieldMisfit: Error, Hashable, Sendable {
    package var reason: String
    /// The index of the array element that does not fit.
    package var element: Int?

    package init(_ reason: String, element: Int? = nil) {
        self.reason = reason
        self.element = element
    }
}

/// How to convert a field to another type.
package struct ColumnConversion: Sendable {
    /// Whether a value of the column can be converted; nil if all can.
    package var condition: (@Sendable (_ column: SQL, _ schema: SQLIdentifier) throws -> SQL)?
    /// The replacement of a value that cannot be converted, in the old type; nil for NULL.
    package var replacement: (@Sendable (_ column: SQL) -> SQL)?
    /// Whether PostgreSQL changes the type of the column.
    package var changesColumn = true

    package static let lossless = ColumnConversion()

    /// Values that do not meet the condition get the replacement, or NULL without one.
    package static func keeping(
        _ condition: @escaping @Sendable (SQL) -> SQL,
        replacing replacement: (@Sendable (SQL) -> SQL)? = nil
    ) -> ColumnConversion {
        ColumnConversion(condition: { column, _ in condition(column) }, replacement: replacement)
    }
}
