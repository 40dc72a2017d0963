internal import SkyrowModel
internal import SkyrowQuery

/// The operators that fields of a type support, in addition to `unset` and `set_on_insert`.
package enum OperatorFamily: Hashable, Sendable {
    case none
    /// `min` and `max`
    case order
    /// `inc`, `mul`, `min` and `max`
    case arithmetic
    /// The operators on arrays and objects in JSON.
    case json
    /// The operators on arrays.
    case array
    /// `relate` and `unrelate`
    case relation
}

/// The properties of an operator that determine a statement's text: its kind, but not its operands.
enum OperatorForm: Hashable, Sendable {
    /// - Parameter isText: whether the values are texts, which are compared by their bytes.
    case compute(FieldOperator.Arithmetic, isText: Bool)
    case unset
    case setOnInsert
    /// On an array in JSON.
    case json(ArrayOperation)
    case setMember
    case computeMember(FieldOperator.Arithmetic)
    case unsetMember
    /// On a typed array.
    case array(ArrayOperatorForm)
    /// Adds members to a relation, removes some, or both; `all` may contain it.
    case members(adds: Bool, removes: Bool)
    case all([OperatorForm])

    /// The number of values to bind in addition to that of the row.
    var operandCount: Int {
        switch self {
        case .compute, .unsetMember: 1
        case .unset, .setOnInsert: 0
        case .setMember, .computeMember: 3
        case .json(let operation): operation.operandCount
        case .array(let form): form.operation.operandCount
        // The members to add and those to remove.
        case .members: 2
        case .all(let forms): forms.reduce(0) { $0 + $1.operandCount }
        }
    }

    /// Whether it leaves the column of an existing record unchanged.
    var leavesColumn: Bool {
        switch self {
        case .setOnInsert, .members: true
        default: false
        }
    }

    var stepCount: Int {
        if case .all(let forms) = self { forms.count } else { 1 }
    }

    /// Whether its operand is the column's value in the row to insert, so that one statement serves many records. The operand
    /// is then also the value of a new record.
    var readsRow: Bool {
        switch self {
        case .compute(let arithmetic, _):
            switch arithmetic {
            case .increment, .minimum, .maximum: true
            case .multiply: false
            }
        case .json(let operation): operation.readsRow
        case .array(let form): form.operation.readsRow
        default: false
        }
    }

    /// Whether it computes or adds numbers, so that a result may be out of the column's range.
    var isArithmetic: Bool {
        switch self {
        case .compute: true
        case .array(let form): form.addsNumbers
        case .all(let forms): forms.contains(where: \.isArithmetic)
        default: false
        }
    }

    /// Whether one statement serves many records.
    var isForMany: Bool { readsRow || operandCount == 0 }

    /// Whether the result may be longer than the stored value.
    var makesLonger: Bool {
        switch self {
        case .setMember, .computeMember: true
        case .compute, .unset, .setOnInsert, .unsetMember, .members: false
        case .json(let operation): operation.makesLonger
        case .array(let form): form.operation.makesLonger
        case .all(let forms): forms.contains(where: \.makesLonger)
        }
    }

    /// The element type if it, or one of `all`, operates on a typed array.
    var element: RowPlan.Element? {
        switch self {
        case .array(let form): form.element
        case .all(let forms): forms.lazy.compactMap(\.element).first
        default: nil
        }
    }

    /// Returns the predicate on elements of one of the operators.
    func predicate(ofStep step: Int) -> ResolvedPredicate? {
        switch self {
        case .json(.pullWhere(let predicate)): return predicate
        case .array(let form):
            guard case .pullWhere(let predicate) = form.operation else { return nil }
            return predicate
        case .all(let forms): return forms.indices.contains(step) ? forms[step].predicate(ofStep: 0) : nil
        default: return nil
        }
    }

    /// Whether the form contains the values of a predicate, so that the number of forms is unbounded.
    var hasPredicate: Bool { (0..<stepCount).contains { predicate(ofStep: $0) != nil } }
}

/// An operator ready for a column: its operands have the column's type, and temporary ids are resolved.
struct SettledOperator: Sendable {
    /// A value to bind for an operator.
    enum Operand: Sendable {
        case value(RecordValue)
        case json(JSONText)
        case index(Int64)
        case names([String])
        /// A number of any length.
        case number(JSONText)
        /// Records to add to a relation.
        case added([RecordID])
        /// Records to remove from a relation.
        case removed([RecordID])
    }

    /// The position of the column in the table.
    let column: Int
    let field: FieldName
    let type: FieldType
    let change: FieldOperator
    let form: OperatorForm
    let operands: [Operand]
    /// The position among the written columns.
    var place = 0

    /// The value of the column in the row to insert if the record exists: the operand, if it is read from there.
    var rowValue: RecordValue {
        guard form.readsRow else { return .null }
        return switch change.kind {
        case .compute(_, let operand): operand
        case .push(let elements, _), .addToSet(let elements): elements
        default: .null
        }
    }

    /// Returns the value of the field in a new record; throws the error of an operator that needs a stored value.
    func freshValue() throws(SkyrowError) -> RecordValue {
        try change.apply(to: .null, isNew: true, field: field, of: type)
    }

    /// Returns the error if the operator cannot be applied to the value of a record; nil if it can.
    ///
    /// - Parameters:
    ///   - unreadable: the fields with values that clients do not see.
    ///   - budget: the remaining budget of the request for evaluating elements.
    func refusal(on record: Record, unreadable: Set<FieldName>, within budget: inout StepBudget) -> SkyrowError? {
        if form.element != nil, unreadable.contains(field) { return OperatorRefusal.type("array").error(on: field) }
        do throws(SkyrowError) {
            _ = try change.apply(
                to: record.fields[field] ?? .null,
                isNew: false,
                field: field,
                of: type,
                within: &budget
            )
            return nil
        } catch {
            return error
        }
    }
}

extension [SettledOperator] {
    /// Returns the error of the first operator that cannot be applied to a record; nil if all can.
    func refusal(on record: Record, unreadable: Set<FieldName>, within budget: inout StepBudget) -> SkyrowError? {
        for change in self {
            if let refusal = change.refusal(on: record, unreadable: unreadable, within: &budget) { return refusal }
        }
        return nil
    }
}
