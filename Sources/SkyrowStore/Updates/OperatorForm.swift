internal import SkyrowModel
internal import SkyrowQuery

/// Which operators the fields of a type take, beside `unset` and `set_on_insert`, which all take.
package enum OperatorFamily: Hashable, Sendable {
    case none
    /// `min` and `max`
    case order
    /// `inc`, `mul`, `min` and `max`
    case arithmetic
    /// Those of arrays and objects in JSON.
    case json
    /// Those of arrays.
    case array
    /// `relate` and `unrelate`
    case relation
}

/// What a statement's text depends on of an operator: its kind, and not its operands.
enum OperatorForm: Hashable, Sendable {
    /// - Parameter isText: whether the values are texts, which are compared by their bytes.
    case compute(FieldOperator.Arithmetic, isText: Bool)
    case unset
    case setOnInsert
    case push(at: FieldOperator.ArrayEnd)
    case addToSet
    case pull
    /// With the values of the predicate.
    case pullWhere(ResolvedPredicate)
    case pop(FieldOperator.ArrayEnd)
    case setElement
    case setMember
    case computeMember(FieldOperator.Arithmetic)
    case unsetMember
    /// On an array of one type.
    case array(ArrayOperatorForm)
    /// Adds members to a relation, removes some, or both; those of `all` are one of these.
    case members(adds: Bool, removes: Bool)
    case all([OperatorForm])

    /// How many values are bound for it, where the row has none for it.
    var operandCount: Int {
        switch self {
        case .compute, .push, .addToSet, .pull, .unsetMember: 1
        case .unset, .setOnInsert, .pullWhere, .pop: 0
        case .setElement: 2
        case .setMember, .computeMember: 3
        case .array(let form): form.operandCount
        // Those to add and those to remove.
        case .members: 2
        case .all(let forms): forms.reduce(0) { $0 + $1.operandCount }
        }
    }

    /// Whether it changes nothing in the column itself where the record is there already.
    var leavesColumn: Bool {
        switch self {
        case .setOnInsert, .members: true
        default: false
        }
    }

    /// How many operators it is.
    var stepCount: Int {
        if case .all(let forms) = self { forms.count } else { 1 }
    }

    /// Whether its operand is the column's value of the row that is to be inserted, so that one statement does for many
    /// records. The value of a new record is the operand too.
    var readsRow: Bool {
        switch self {
        case .compute(let arithmetic, _):
            switch arithmetic {
            case .increment, .minimum, .maximum: true
            case .multiply: false
            }
        case .push, .addToSet: true
        case .array(let form): form.readsRow
        case .unset, .setOnInsert, .pull, .pullWhere, .pop, .setElement, .setMember, .computeMember, .unsetMember,
            .members, .all:
            false
        }
    }

    /// Whether it computes or adds numbers, so that a result can be beyond the range of the column.
    var isArithmetic: Bool {
        switch self {
        case .compute: true
        case .array(let form): form.addsNumbers
        case .all(let forms): forms.contains(where: \.isArithmetic)
        case .unset, .setOnInsert, .push, .addToSet, .pull, .pullWhere, .pop, .setElement, .setMember, .computeMember,
            .unsetMember,
            .members:
            false
        }
    }

    /// Whether one statement does for many records.
    var isForMany: Bool { readsRow || operandCount == 0 }

    /// Whether the result may be longer than the stored value.
    var makesLonger: Bool {
        switch self {
        case .push, .addToSet, .setElement, .setMember, .computeMember: true
        case .compute, .unset, .setOnInsert, .pull, .pullWhere, .pop, .unsetMember, .members: false
        case .array(let form): form.makesLonger
        case .all(let forms): forms.contains(where: \.makesLonger)
        }
    }

    /// What the elements are where it, or one of `all`, is on an array of one type.
    var element: RowPlan.Element? {
        switch self {
        case .array(let form): form.element
        case .all(let forms): forms.lazy.compactMap(\.element).first
        case .compute, .unset, .setOnInsert, .push, .addToSet, .pull, .pullWhere, .pop, .setElement, .setMember,
            .computeMember, .unsetMember, .members:
            nil
        }
    }

    /// What is asked of elements by it, or by one of the operators of `all`.
    func predicate(ofStep step: Int) -> ResolvedPredicate? {
        switch self {
        case .pullWhere(let predicate): return predicate
        case .array(let form):
            guard case .pullWhere(let predicate) = form.operation else { return nil }
            return predicate
        case .all(let forms): return forms.indices.contains(step) ? forms[step].predicate(ofStep: 0) : nil
        case .compute, .unset, .setOnInsert, .push, .addToSet, .pull, .pop, .setElement, .setMember, .computeMember,
            .unsetMember, .members:
            return nil
        }
    }

    /// Whether the form has the values of a predicate, so that there are as many forms as values.
    var hasPredicate: Bool { (0..<stepCount).contains { predicate(ofStep: $0) != nil } }
}

/// An operator as a column takes it: its operands are of the column's type, and temporary ids are resolved.
struct SettledOperator: Sendable {
    /// A value that is bound for an operator.
    enum Operand: Sendable {
        case value(RecordValue)
        case json(JSONText)
        case index(Int64)
        case names([String])
        /// A number of any length.
        case number(JSONText)
        /// Records that become members of a relation.
        case added([RecordID])
        /// Records that are no members of a relation any longer.
        case removed([RecordID])
    }

    /// The place of the column in the table.
    let column: Int
    let field: FieldName
    /// The type of the field.
    let type: FieldType
    let change: FieldOperator
    let form: OperatorForm
    let operands: [Operand]
    /// The place among the columns that are written.
    var place = 0

    /// What the row of a statement has for the column where the record is there already: the operand, if it is read there.
    var rowValue: RecordValue {
        guard form.readsRow else { return .null }
        return switch change.kind {
        case .compute(_, let operand): operand
        case .push(let elements, _), .addToSet(let elements): elements
        default: .null
        }
    }

    /// What the field gets in a new record; throws the refusal of an operator that needs a stored value.
    func freshValue() throws(SkyrowError) -> RecordValue {
        try change.apply(to: .null, isNew: true, field: field, of: type)
    }

    /// The error for a record whose value the operator cannot be applied to; nil where it can.
    ///
    /// - Parameters:
    ///   - unreadable: the fields whose values are none that clients are shown.
    ///   - budget: what the request may still ask of elements.
    func refusal(
        on record: Record,
        unreadable: Set<FieldName>,
        within budget: inout StepBudget
    ) -> SkyrowError? {
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
    /// The error for the first operator that cannot be applied to a record; nil where each can.
    func refusal(
        on record: Record,
        unreadable: Set<FieldName>,
        within budget: inout StepBudget
    ) -> SkyrowError? {
        for change in self {
            if let refusal = change.refusal(on: record, unreadable: unreadable, within: &budget) { return refusal }
        }
        return nil
    }
}
