package import SkyrowModel
internal import SkyrowPostgres

/// One record of a request in the form in which it is written: ids resolved, values checked against their columns.
package struct RecordWrite: Sendable {
    /// The position of the record in the request.
    package let index: Int
    package let id: RecordID
    package let table: RecordTable
    /// nil if the draft has no list, so that the stored one is kept.
    package private(set) var access: AccessList?
    package let precondition: SavePrecondition?
    /// The part of the write on which the text of its statement depends.
    package private(set) var shape: SaveShape
    /// The values of the columns that are set.
    package let values: [RecordValue]
    /// The number of records before it in the request that have the same id.
    package let round: Int
    /// nil for a record without operators and condition, the usual case.
    private let operated: WriteOperators?
    /// How often the kind of the statement was changed (``tryAsChange()``).
    private var changesOfForm: UInt8 = 0

    /// - Parameters:
    ///   - columns: the positions in the table of the columns to set, in ascending order.
    ///   - operators: the operators; their columns are in ``columns`` with the values for a new record.
    ///   - insertRefusal: why no record can be created: the caller may not, or an operator has no value for a new record.
    ///   - condition: the condition on the stored record `r`.
    ///   - trusted: what hooks have set.
    init(
        index: Int,
        id: RecordID,
        table: RecordTable,
        access: AccessList?,
        precondition: SavePrecondition?,
        columns: [Int],
        values: [RecordValue],
        round: Int,
        operators: [SettledOperator] = [],
        insertRefusal: SkyrowError? = nil,
        condition: SQL? = nil,
        trusted: TrustedMembers? = nil
    ) {
        self.index = index
        self.id = id
        self.table = table
        self.access = access
        self.precondition = precondition
        self.values = values
        self.round = round
        operated =
            operators.isEmpty && condition == nil && insertRefusal == nil
            ? nil : WriteOperators(operators: operators, insertRefusal: insertRefusal, condition: condition)
        let kind: SaveShape.Kind
        switch (precondition, table.rules.origin) {
        case (.revision, _): kind = .updateOfRevision
        case (.isNew, .saves): kind = .insert
        case (.exists, .saves): kind = .update
        case (nil, .saves): kind = insertRefusal == nil && condition == nil ? .upsert : .update
        case (.isNew, .accounts), (.exists, .accounts), (nil, .accounts): kind = .update
        }
        shape = SaveShape(kind: kind, columns: columns, setsAccess: access != nil)
        shape.isConditional = condition != nil
        if let trusted {
            shape.trusted = columns.filter { trusted.fields.contains(table.columns[$0].field) }
            shape.trustsAccess = trusted.hasAccess
        }
        if !operators.isEmpty {
            shape.operators = operators.map { SaveShape.Operator(place: $0.place, form: $0.form) }
        }
    }

    /// The positions in the table of the columns to set, in ascending order.
    package var columns: [Int] { shape.columns }
    /// The operators, ordered by their columns.
    var operators: [SettledOperator] { operated?.operators ?? [] }
    /// The reason why no record can be created; nil if one can.
    var insertRefusal: SkyrowError? { operated?.insertRefusal }

    /// The condition on the stored record `r`; nil for no condition.
    var condition: SQL? { operated?.condition }

    // PostgreSQL checks constraints on the row to insert before it finds that the record exists. With `CHECK (stock >= 0)` and an
    // operator that adds -1, or with a NOT NULL column that is not sent, the row to insert violates the constraint, although the
    // updated row may not.

    /// Whether a constraint may have refused the row to insert, although the updated row may satisfy it.
    var mayBeTriedAsChange: Bool { shape.kind == .upsert && changesOfForm == 0 }
    /// Whether the write is tried as an update, until it is known that there is no such record.
    var isTriedAsChange: Bool { changesOfForm == 1 }

    /// Makes the write change the record if it exists, and not create it.
    mutating func tryAsChange() {
        shape.kind = .update
        changesOfForm = 1
    }

    /// Lets the write create the record, after there was no record to change.
    mutating func tryAsUpsert() {
        shape.kind = .upsert
        changesOfForm = 2
    }

    /// Leaves the stored access list as it is.
    mutating func keepAccess() {
        access = nil
        shape.setsAccess = false
    }
}

/// The parts of a write with operators or a condition, or that cannot create. An object, so that other writes are no larger.
private final class WriteOperators: Sendable {
    let operators: [SettledOperator]
    let insertRefusal: SkyrowError?
    let condition: SQL?

    init(operators: [SettledOperator], insertRefusal: SkyrowError?, condition: SQL?) {
        self.operators = operators
        self.insertRefusal = insertRefusal
        self.condition = condition
    }
}

/// Records of one shape that one statement writes, by their positions among all writes of a request.
package struct WriteGroup: Sendable {
    package let writes: [RecordWrite]
    package let positions: [Int]

    package var count: Int { positions.count }
    /// The condition on the only record of the group, if it has one.
    var condition: SQL? { positions.count == 1 ? writes[positions[0]].condition : nil }
}

/// The form of a save: records of one type and shape share a statement.
package struct SaveShape: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// Creates the record or changes it.
        case upsert
        /// Creates the record, `"_if_revision": "new"`.
        case insert
        /// Changes the record.
        case update
        /// Changes the record if it has a certain revision.
        case updateOfRevision
    }

    /// An operator, and the position of its column among those that are set.
    struct Operator: Hashable, Sendable {
        let place: Int
        let form: OperatorForm
    }

    package var kind: Kind
    package var columns: [Int]
    package var setsAccess: Bool
    /// Sorted by position.
    var operators: [Operator] = []
    /// Whether there is a condition on the stored record; the condition itself is not part of the shape.
    var isConditional = false
    /// The positions in the table of the columns that hooks have set.
    var trusted: [Int] = []
    /// Whether a hook has set the access list.
    var trustsAccess = false

    var mayCreate: Bool { kind == .upsert || kind == .insert }

    /// Whether the text of the statement is cached. With many operators the text is long; with these and with predicates there is
    /// no bound on the number of texts.
    var hasFewOperators: Bool {
        operators.isEmpty
            || operators.reduce(0) { $0 + $1.form.stepCount } <= 8 && !operators.contains { $0.form.hasPredicate }
    }

    /// Whether each record of the shape needs a separate statement, to which operands are bound.
    var isAlone: Bool { isConditional || !operators.isEmpty && !operators.allSatisfy(\.form.isForMany) }
}

extension RecordColumn {
    /// Returns the value in the form that the column takes; nil leaves the column unchanged.
    ///
    /// Throws `114 IncompatibleSchema` for a value of another type and `108 InvalidArgument` for one that does not fit.
    package func accepted(_ value: RecordValue) throws(SkyrowError) -> RecordValue? {
        guard isWritable else { throw readOnly }
        let typed: RecordValue
        do throws(ValueMisfit) { typed = try type.column.typedValue(value) } catch { throw uncast(error) }
        do throws(ValueMisfit) { return try type.column.write(typed) } catch { throw refusal(error) }
    }

    /// The error for a string that is not a value of the column's type; `info` names the type.
    func uncast(_ misfit: ValueMisfit) -> SkyrowError {
        var error = refusal(misfit)
        if case .value = misfit { error.info[SkyrowError.expectedTypeKey] = .string(type.name) }
        return error
    }

    /// The error for a value of a read-only column.
    var readOnly: SkyrowError { conflict("is read-only") }

    func refusal(_ misfit: ValueMisfit) -> SkyrowError {
        switch misfit {
        case .type: conflict("is of the type \(type.name)")
        case .value(let misfit):
            SkyrowError.invalidArgument(
                "The value does not fit: the field \(field) \(misfit.reason).",
                field.rawValue
            ).at((misfit.element.map { "\(field)[\($0)]" } ?? field.rawValue))
        }
    }

    private func conflict(_ reason: String) -> SkyrowError {
        SkyrowError(
            .incompatibleSchema,
            "The value does not fit: the field \(field) \(reason).",
            info: ["arguments": .list([.string(field.rawValue)])]
        )
    }
}

/// The reason why a column does not take a value.
enum ValueMisfit: Error {
    /// The value has another type.
    case type
    case value(FieldMisfit)
}

extension ColumnType {
    /// Returns the value in the form that a column of this type takes; nil leaves the column unchanged.
    func write(_ value: RecordValue) throws(ValueMisfit) -> RecordValue? {
        if case .null = value { return value }
        switch admission(of: value) {
        case .fits: break
        case .fitsWidened: throw .value(FieldMisfit("holds integers"))
        case .conflicts: throw .type
        }
        do throws(FieldMisfit) { return try accepted(value) } catch { throw .value(error) }
    }

    /// Converts a value of a client to the type (``ColumnType/typed(_:)``).
    func typedValue(_ value: RecordValue) throws(ValueMisfit) -> RecordValue {
        do throws(FieldMisfit) { return try typed(value) } catch { throw .value(error) }
    }
}
