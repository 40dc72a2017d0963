package import SkyrowModel
internal import SkyrowPostgres

/// One record of a request as it will be written: its ids settled, its values checked against their columns.
package struct RecordWrite: Sendable {
    /// Where the record stands in the request.
    package let index: Int
    package let id: RecordID
    package let table: RecordTable
    /// nil when the draft has no list, which keeps the stored one.
    package private(set) var access: AccessList?
    package let precondition: SavePrecondition?
    /// What the statement's text depends on.
    package private(set) var shape: SaveShape
    /// The values of the columns that are set.
    package let values: [RecordValue]
    /// The number of records before it in the request that have the same id.
    package let round: Int
    /// nil for a record without operators and condition, as most are.
    private let operated: WriteOperators?
    /// How often the form of the statement was changed (``tryAsChange()``).
    private var changesOfForm: UInt8 = 0

    /// - Parameters:
    ///   - columns: the columns to set by their place in the table, in that order.
    ///   - operators: those of the columns, which are in ``columns`` with what a new record gets.
    ///   - insertRefusal: why there can be no new record: the caller may make none, or an operator makes no value of none.
    ///   - condition: what must hold of the stored record `r`.
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
        condition: SQL? = nil
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
        if !operators.isEmpty {
            shape.operators = operators.map { SaveShape.Operator(place: $0.place, form: $0.form) }
        }
    }

    /// The columns to set by their place in the table, in that order.
    package var columns: [Int] { shape.columns }
    /// The operators, by the places of their columns.
    var operators: [SettledOperator] { operated?.operators ?? [] }
    /// Why there can be no new record; nil where there can.
    var insertRefusal: SkyrowError? { operated?.insertRefusal }

    /// What must hold of the stored record `r`; nil where nothing must.
    var condition: SQL? { operated?.condition }

    // A row that is to be inserted is judged by the rules of its table before PostgreSQL finds that it is there already: of
    // `stock >= 0` and an operator that adds -1, or of a column that must have a value and is not sent, the row of a new record
    // breaks the rule, and what becomes of the stored one may not.

    /// Whether a rule of the table may have refused the row of a new record, and not what becomes of the stored one.
    var mayBeTriedAsChange: Bool { shape.kind == .upsert && changesOfForm == 0 }
    /// Whether it is a change until it is known that there is no such record.
    var isTriedAsChange: Bool { changesOfForm == 1 }

    /// Changes the record if there is one, and does not create it.
    mutating func tryAsChange() {
        shape.kind = .update
        changesOfForm = 1
    }

    /// Creates the record after all, now that there was none to change.
    mutating func tryAsUpsert() {
        shape.kind = .upsert
        changesOfForm = 2
    }

    /// Leaves the access list as it is stored.
    mutating func keepAccess() {
        access = nil
        shape.setsAccess = false
    }
}

/// What only a write has with operators, with a condition, or that creates no record; an object, so that the others are no larger for it.
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

/// The form of a save: records of one type and shape go into one statement.
package struct SaveShape: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// Creates the record or changes it.
        case upsert
        /// Creates the record, `"_if_revision": "new"`.
        case insert
        /// Changes the record.
        case update
        /// Changes the record when it has a certain revision.
        case updateOfRevision
    }

    /// An operator, and the place of its column among those that are set.
    struct Operator: Hashable, Sendable {
        let place: Int
        let form: OperatorForm
    }

    package var kind: Kind
    package var columns: [Int]
    package var setsAccess: Bool
    /// Sorted by their places.
    var operators: [Operator] = []
    /// Whether the stored record has to meet a condition, which is no part of the shape.
    var isConditional = false

    package init(kind: Kind, columns: [Int], setsAccess: Bool) {
        self.kind = kind
        self.columns = columns
        self.setsAccess = setsAccess
    }

    /// Whether a record may come into being.
    var mayCreate: Bool { kind == .upsert || kind == .insert }

    /// Whether the text of the statement is kept. One of many operators is long, and there are more of them than can be, as
    /// there are of those with predicates.
    var hasFewOperators: Bool {
        operators.isEmpty
            || operators.reduce(0) { $0 + $1.form.stepCount } <= 8 && !operators.contains { $0.form.hasPredicate }
    }

    /// Whether a record of the shape is a statement of its own, to which operands are bound.
    var isAlone: Bool { isConditional || !operators.isEmpty && !operators.allSatisfy(\.form.isForMany) }
}

extension RecordColumn {
    /// The value as this column takes it; nil leaves the column alone.
    ///
    /// Throws `114 IncompatibleSchema` for a value of another type and `108 InvalidArgument` for one that does not fit.
    package func accepted(_ value: RecordValue) throws(SkyrowError) -> RecordValue? {
        guard isWritable else { throw readOnly }
        let typed: RecordValue
        do throws(ValueMisfit) { typed = try type.column.typedValue(value) } catch { throw uncast(error) }
        do throws(ValueMisfit) { return try type.column.write(typed) } catch { throw refusal(error) }
    }

    /// What a string is refused with that is no value of the column's type; `info` names the type.
    func uncast(_ misfit: ValueMisfit) -> SkyrowError {
        var error = refusal(misfit)
        if case .value = misfit { error.info[SkyrowError.expectedTypeKey] = .string(type.name) }
        return error
    }

    /// What a value is refused with that the column cannot take.
    var readOnly: SkyrowError { conflict("can be read only") }

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

/// Why a column does not take a value.
enum ValueMisfit: Error {
    /// It is of another type.
    case type
    case value(FieldMisfit)
}

extension ColumnType {
    /// The value as a column of this type takes it; nil leaves the column alone.
    func write(_ value: RecordValue) throws(ValueMisfit) -> RecordValue? {
        if case .null = value { return value }
        switch admission(of: value) {
        case .fits: break
        case .fitsWidened: throw .value(FieldMisfit("holds integers"))
        case .conflicts: throw .type
        }
        do throws(FieldMisfit) { return try accepted(value) } catch { throw .value(error) }
    }

    /// What the type makes of a value of a client (``ColumnType/typed(_:)``).
    func typedValue(_ value: RecordValue) throws(ValueMisfit) -> RecordValue {
        do throws(FieldMisfit) { return try typed(value) } catch { throw .value(error) }
    }
}
