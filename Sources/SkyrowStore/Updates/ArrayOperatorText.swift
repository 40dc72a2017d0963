internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowQuery

/// An operator on an array, without its operands.
enum ArrayOperation: Hashable, Sendable {
    case push(at: FieldOperator.ArrayEnd)
    case addToSet
    case pull
    /// With the values of the predicate.
    case pullWhere(ResolvedPredicate)
    case pop(FieldOperator.ArrayEnd)
    case setElement

    var operandCount: Int {
        switch self {
        case .push, .addToSet, .pull: 1
        case .pop, .pullWhere: 0
        case .setElement: 2
        }
    }

    var readsRow: Bool {
        switch self {
        case .push, .addToSet: true
        case .pull, .pullWhere, .pop, .setElement: false
        }
    }

    var makesLonger: Bool {
        switch self {
        case .push, .addToSet, .setElement: true
        case .pull, .pullWhere, .pop: false
        }
    }
}

/// The properties of an operator on a typed array that determine a statement's text.
struct ArrayOperatorForm: Hashable, Sendable {
    let operation: ArrayOperation
    let element: RowPlan.Element

    /// Whether the operator may add a number that is out of the column's range.
    var addsNumbers: Bool {
        switch element {
        case .integer, .number: operation.makesLonger
        case .text, .boolean, .reference: false
        }
    }

    /// Whether an operand is an array: all but the index of an element.
    func isArray(_ operand: Int) -> Bool {
        switch operation {
        case .push, .addToSet, .pull, .pullWhere, .pop: true
        case .setElement: operand == 1
        }
    }

    /// Whether the elements of the operand are stored, and not only compared with stored ones.
    var storesOperand: Bool { operation.makesLonger }
}

/// The SQL of an operator on a typed array.
///
/// ```sql
/// coalesce("r"."tags", '{}') || "excluded"."tags"
/// ```
///
/// The lower bound of an array that psql wrote may be any number, and its elements may be NULL, unlike those of an operand.
/// Multidimensional arrays do not count as arrays here.
struct ArrayOperatorText {
    let form: ArrayOperatorForm
    let x: SQL
    /// Arrays have the type of the column.
    let operands: [StatementTemplate]
    /// Whether stored ids may have the prefix of a private database.
    let isPrivate: Bool
    /// The predicate on each element, possibly empty.
    let predicate: StatementTemplate

    private func operand(_ number: Int) -> StatementTemplate {
        operands.indices.contains(number) ? operands[number] : ""
    }

    var value: StatementTemplate {
        switch form.operation {
        case .push(at: .last):
            return "coalesce(\(x), '{}') || \(operand(0))"
        case .push(at: .first):
            return "\(operand(0)) || coalesce(\(x), '{}')"
        case .addToSet:
            return """
                coalesce(\(x), '{}') || ARRAY(SELECT "v"."e" FROM unnest(\(operand(0))) WITH ORDINALITY AS "v" ("e", "n") \
                WHERE NOT EXISTS (SELECT FROM unnest(\(x)) AS "o" ("e") WHERE \(isSame)) ORDER BY "v"."n")
                """
        case .pull:
            return """
                ARRAY(SELECT "o"."e" FROM unnest(\(x)) WITH ORDINALITY AS "o" ("e", "n") \
                WHERE NOT EXISTS (SELECT FROM unnest(\(operand(0))) AS "v" ("e") WHERE \(isSame)) ORDER BY "o"."n")
                """
        case .pullWhere:
            return """
                ARRAY(SELECT "e1"."value" FROM unnest(\(x)) WITH ORDINALITY AS "e1" ("value", "n") \
                WHERE (\(predicate)) IS NOT TRUE ORDER BY "e1"."n")
                """
        case .pop(.first):
            return "coalesce((\(x))[array_lower(\(x), 1) + 1:], '{}')"
        case .pop(.last):
            return "coalesce((\(x))[:array_upper(\(x), 1) - 1], '{}')"
        case .setElement:
            return """
                (\(x))[:array_lower(\(x), 1) - 1 + \(operand(0))] || \(operand(1)) \
                || (\(x))[array_lower(\(x), 1) + 1 + \(operand(0)):]
                """
        }
    }

    /// Whether an element `o.e` of the stored array equals the element `v.e` of the operand.
    private var isSame: StatementTemplate {
        switch form.element {
        case .integer, .number, .boolean: "\"o\".\"e\" = \"v\".\"e\""
        case .text: "\"o\".\"e\" COLLATE \"C\" = \"v\".\"e\""
        case .reference: "\(wireID("\"o\".\"e\"")) COLLATE \"C\" = \(wireID("\"v\".\"e\""))"
        }
    }

    /// Returns the wire id, by which clients compare records.
    private func wireID(_ id: SQL) -> StatementTemplate {
        guard isPrivate else { return "\(id)" }
        return """
            CASE WHEN starts_with(\(id), \(parameter: .prefix)) \
            THEN substr(\(id), length(\(parameter: .prefix)) + 1) ELSE \(id) END
            """
    }

    // MARK: Conditions

    /// Whether the operator applies to the stored value.
    var condition: StatementTemplate {
        switch form.operation {
        case .push, .addToSet, .pull, .pullWhere, .pop: "coalesce(array_ndims(\(x)), 1) = 1"
        case .setElement: "CASE WHEN array_ndims(\(x)) = 1 THEN cardinality(\(x)) > \(operand(0)) ELSE false END"
        }
    }

    /// The condition, and that the result is short enough to be stored.
    var wholeCondition: StatementTemplate {
        switch form.operation {
        case .pull, .pullWhere, .pop:
            return condition
        case .push:
            return "CASE WHEN \(condition) THEN \(hasRoomForAll) ELSE false END"
        case .addToSet:
            // Usually there is room for all elements, even if some are duplicates.
            return """
                CASE WHEN NOT (\(condition)) THEN false WHEN \(hasRoomForAll) THEN true ELSE \
                (SELECT \(Self.room("\"g\".\"x\"", form.element)) FROM (SELECT \(value) AS "x" OFFSET 0) AS "g") END
                """
        case .setElement:
            guard form.element == .text else { return condition }
            return "CASE WHEN \(condition) THEN \(Self.length("\(value)")) <= 1048576 ELSE false END"
        }
    }

    private var hasRoomForAll: StatementTemplate {
        let count: StatementTemplate = "coalesce(cardinality(\(x)), 0) + cardinality(\(operand(0))) <= 10000"
        guard form.element == .text else { return count }
        return """
            \(count) AND coalesce(\(Self.length("\(x)")), 0) + coalesce(\(Self.length(operand(0))), 0) <= 1048576
            """
    }

    /// Whether a result is short enough to be stored.
    static func room(_ x: SQL, _ element: RowPlan.Element) -> StatementTemplate {
        let count: StatementTemplate = "coalesce(cardinality(\(x)), 0) <= 10000"
        return element == .text ? "\(count) AND coalesce(\(length("\(x)")), 0) <= 1048576" : count
    }

    /// The total length of an array's texts in bytes.
    private static func length(_ texts: StatementTemplate) -> StatementTemplate {
        "octet_length(array_to_string(\(texts), ''))"
    }
}
