internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowQuery

/// The SQL of an operator: the new value of a column, and the condition under which the operator applies.
///
/// ```sql
/// coalesce("r"."views" + EXCLUDED."views", EXCLUDED."views")
/// ```
///
/// Uses only expressions, since a function in one of PostgreSQL's languages costs more than the rest of the statement. No
/// condition raises an error for any value, in any order of evaluation. ``FieldOperator`` implements the same in memory
/// (`apply`), and a seeded test compares the two.
struct OperatorText {
    let form: OperatorForm
    /// The position of the column among the written ones, by which operands are bound.
    let place: Int
    /// The value of the column in the row to insert.
    let input: StatementTemplate
    /// Whether the records are in a private database.
    var isPrivate = false
    /// Converts the elements of an operand to stored ids; nil if elements are stored as they are sent.
    var storedIDs: ((StatementTemplate) -> StatementTemplate)?
    /// Returns the condition on an element, `"e1"."value"`.
    let condition: (ResolvedPredicate) -> SQL

    /// Returns the new value of the column; nil if the column stays unchanged.
    func value(of column: SQL) -> StatementTemplate? {
        guard let forms = chained else { return form.leavesColumn ? nil : step(of: column).value }
        guard forms.contains(where: { $0 != .setOnInsert }) else { return nil }
        return "(SELECT \"s\".\"x\" FROM (\(chain(forms, column))) AS \"s\")"
    }

    /// Returns the condition under which the operator applies; nil if it always does.
    func condition(on column: SQL) -> StatementTemplate? {
        guard let forms = chained else { return step(of: column).wholeCondition }
        let hasCondition = forms.contains { Step($0, of: column, operands: [], isPrivate, "").condition != nil }
        guard hasCondition || form.makesLonger else { return nil }
        let room: StatementTemplate =
            form.makesLonger ? " AND \(Step.room("\"s\".\"x\"", elements: form.element))" : ""
        return "(SELECT \"s\".\"ok\"\(room) FROM (\(chain(forms, column))) AS \"s\")"
    }

    /// The operators to nest; nil for a single operator that is an expression on the column itself.
    private var chained: [OperatorForm]? {
        switch form {
        case .all(let forms): forms
        // These use their operands many times.
        case .setMember, .computeMember, .unsetMember: [form]
        case .compute, .unset, .setOnInsert, .json, .array, .members: nil
        }
    }

    /// Returns the predicate of a step on each element, with its values bound separately.
    private func predicate(_ step: Int) -> StatementTemplate {
        guard let predicate = form.predicate(ofStep: step) else { return "" }
        return StatementTemplate(condition(predicate)) { .elementValue(column: place, step: step, number: $0) }
    }

    private func step(of column: SQL) -> Step {
        Step(form, of: column, operands: form.readsRow ? [input] : operands(of: form, from: 0), isPrivate, predicate(0))
    }

    /// Returns the parameters of an operator, starting at a number among those of the column.
    private func operands(of form: OperatorForm, from first: Int) -> [StatementTemplate] {
        (0..<form.operandCount).map { number in
            let operand: StatementTemplate = "\(parameter: .operand(column: place, number: first + number))"
            guard case .array(let array) = form, array.isArray(number) else { return operand }
            let elements: StatementTemplate = "\(operand)::\(RowPlan.Kind.array(array.element).sqlType)"
            return array.storesOperand ? storedIDs?(elements) ?? elements : elements
        }
    }

    /// Nests the steps of `all`: each takes the value of the previous one, and none is executed after one that does not apply.
    ///
    /// `OFFSET 0` keeps PostgreSQL from substituting an inner expression for each of its uses in an outer one. The parameters
    /// of a step are bound once, regardless of how often the step uses them.
    private func chain(_ forms: [OperatorForm], _ column: SQL) -> StatementTemplate {
        var source: StatementTemplate = "SELECT \(column) AS \"x\", true AS \"ok\""
        var operands = 0
        for (number, form) in forms.enumerated() where form != .setOnInsert {
            let bound = self.operands(of: form, from: operands)
            operands += form.operandCount
            let step = Step(
                form,
                of: "\"c\".\"x\"",
                operands: ["\"c\".\"a\"", "\"c\".\"b\"", "\"c\".\"d\""],
                isPrivate,
                predicate(number)
            )
            let test = Step(
                form,
                of: "\"s\".\"x\"",
                operands: ["\"p\".\"a\"", "\"p\".\"b\"", "\"p\".\"d\""],
                isPrivate,
                ""
            )
            let condition = test.condition.map { " AND \($0)" as StatementTemplate } ?? ""
            let columns = zip(["\"a\"", "\"b\"", "\"d\""] as [SQL], bound)
            let given = columns.map { name, _ in ", \"p\".\(name)" as StatementTemplate }.joined(separator: "")
            let parameters = columns.map { name, value in "\(value) AS \(name)" as StatementTemplate }
            let row: StatementTemplate =
                bound.isEmpty ? "" : ", (SELECT \(parameters.joined(separator: ", "))) AS \"p\""
            source = """
                SELECT CASE WHEN "c"."ok" THEN \(step.value) ELSE "c"."x" END AS "x", "c"."ok" \
                FROM (SELECT "s"."x"\(given), "s"."ok"\(condition) AS "ok" \
                FROM (\(source)) AS "s"\(row) OFFSET 0) AS "c" OFFSET 0
                """
        }
        return source
    }
}

/// One operator on an expression that is short enough to be repeated, as are its operands.
private struct Step {
    let form: OperatorForm
    let x: SQL
    private let operands: [StatementTemplate]
    private let isPrivate: Bool
    private let predicate: StatementTemplate

    init(
        _ form: OperatorForm,
        of x: SQL,
        operands: [StatementTemplate],
        _ isPrivate: Bool,
        _ predicate: StatementTemplate
    ) {
        self.predicate = predicate
        self.form = form
        self.x = x
        self.operands = operands
        self.isPrivate = isPrivate
    }

    private func text(of form: ArrayOperatorForm) -> ArrayOperatorText {
        ArrayOperatorText(form: form, x: x, operands: operands, isPrivate: isPrivate, predicate: predicate)
    }

    private func operand(_ number: Int) -> StatementTemplate {
        operands.indices.contains(number) ? operands[number] : ""
    }

    // MARK: Values

    var value: StatementTemplate {
        switch form {
        case .compute(let arithmetic, let isText):
            return compute(arithmetic, isText ? "\(x) COLLATE \"C\"" : "\(x)", operand(0))
        case .unset, .all:
            // NULL of the column's type.
            return "CASE WHEN false THEN \(x) END"
        case .setOnInsert, .members:
            return "\(x)"
        case .json(.push(at: .last)):
            return "coalesce(\(x), '[]') || \(operand(0))"
        case .json(.push(at: .first)):
            return "\(operand(0)) || coalesce(\(x), '[]')"
        case .json(.addToSet):
            return """
                coalesce(\(x), '[]') || coalesce((SELECT jsonb_agg("v"."e" ORDER BY "v"."n") \
                FROM jsonb_array_elements(\(operand(0))) WITH ORDINALITY AS "v" ("e", "n") WHERE NOT EXISTS \
                (SELECT FROM jsonb_array_elements(coalesce(\(x), '[]')) AS "o" ("e") WHERE "o"."e" = "v"."e")), '[]')
                """
        case .json(.pull):
            return """
                coalesce((SELECT jsonb_agg("o"."e" ORDER BY "o"."n") \
                FROM jsonb_array_elements(\(x)) WITH ORDINALITY AS "o" ("e", "n") WHERE NOT EXISTS \
                (SELECT FROM jsonb_array_elements(\(operand(0))) AS "v" ("e") WHERE "v"."e" = "o"."e")), '[]')
                """
        case .json(.pullWhere):
            return """
                coalesce((SELECT jsonb_agg("e1"."value" ORDER BY "e1"."n") \
                FROM jsonb_array_elements(\(x)) WITH ORDINALITY AS "e1" ("value", "n") \
                WHERE (\(predicate)) IS NOT TRUE), '[]')
                """
        case .json(.pop(.first)): return "coalesce(\(x), '[]') - 0"
        case .json(.pop(.last)): return "coalesce(\(x), '[]') - (-1)"
        case .json(.setElement): return "jsonb_set(\(x), ARRAY[\(operand(0))::text], \(operand(1)), false)"
        case .setMember: return member(operand(1))
        case .computeMember(let arithmetic): return member("to_jsonb(\(number(arithmetic)))")
        case .unsetMember: return "\(object) #- \(operand(0))"
        case .array(let form): return text(of: form).value
        }
    }

    private func compute(
        _ arithmetic: FieldOperator.Arithmetic,
        _ x: StatementTemplate,
        _ operand: StatementTemplate
    ) -> StatementTemplate {
        switch arithmetic {
        case .increment: "coalesce(\(x) + \(operand), \(operand))"
        case .multiply: "coalesce(\(x) * \(operand), 0)"
        case .minimum: "least(\(x), \(operand))"
        case .maximum: "greatest(\(x), \(operand))"
        }
    }

    /// The object, or an empty one if it is missing.
    private var object: StatementTemplate { "CASE WHEN jsonb_typeof(\(x)) = 'object' THEN \(x) ELSE '{}' END" }

    /// Returns the object with a member set; missing objects on the path come from a skeleton, the third operand.
    private func member(_ value: StatementTemplate) -> StatementTemplate {
        """
        (SELECT jsonb_set(\(object), "k"."k", jsonb_set(\(operand(2)), \(operand(0)), \(value)) #> "k"."k") \
        FROM (SELECT (\(operand(0)))[1:(SELECT count(*)::int FROM \(names) WHERE "g"."n" = 1 \
        OR jsonb_typeof(\(leading)) = 'object')] AS "k" OFFSET 0) AS "k")
        """
    }

    /// The names of the path, numbered from 1.
    private var names: StatementTemplate { "unnest(\(operand(0))) WITH ORDINALITY AS \"g\" (\"e\", \"n\")" }

    /// The object that has the member named by `g`.
    private var leading: StatementTemplate { "\(x) #> (\(operand(0)))[1:\"g\".\"n\"::int - 1]" }

    /// Returns the new value of a number inside the object, without trailing zeros.
    private func number(_ arithmetic: FieldOperator.Arithmetic) -> StatementTemplate {
        let stored: StatementTemplate = "(\(x) #>> \(operand(0)))::numeric"
        return "trim_scale(\(compute(arithmetic, stored, "\(operand(1))::numeric")))"
    }

    // MARK: Conditions

    /// Whether the operator applies to the stored value; nil if it always does.
    var condition: StatementTemplate? {
        switch form {
        case .compute, .unset, .setOnInsert, .members, .all: nil
        case .json(.setElement):
            "CASE WHEN jsonb_typeof(\(x)) = 'array' THEN jsonb_array_length(\(x)) > \(operand(0)) ELSE false END"
        case .json: "coalesce(jsonb_typeof(\(x)), 'array') = 'array'"
        case .setMember, .unsetMember: objects
        case .computeMember(let arithmetic):
            """
            CASE WHEN \(objects) AND coalesce(jsonb_typeof(\(x) #> \(operand(0))), 'null') IN ('number', 'null') \
            THEN length(\(number(arithmetic))::text) <= 400 ELSE false END
            """
        case .array(let form): text(of: form).condition
        }
    }

    /// Whether all values on the path to the member are objects or missing.
    private var objects: StatementTemplate {
        "NOT EXISTS (SELECT FROM \(names) WHERE jsonb_typeof(\(leading)) NOT IN ('object', 'null'))"
    }

    /// The condition, and that the result is short enough to be stored.
    var wholeCondition: StatementTemplate? {
        guard let condition else { return nil }
        switch form {
        case .compute, .unset, .setOnInsert, .members, .all, .json(.pull), .json(.pullWhere), .json(.pop), .unsetMember:
            return condition
        case .json(.push):
            return """
                CASE WHEN NOT (\(condition)) THEN false ELSE \(hasRoomForAll) END
                """
        case .json(.addToSet):
            // Usually there is room for all elements, even if some are duplicates.
            return """
                CASE WHEN NOT (\(condition)) THEN false WHEN \(hasRoomForAll) THEN true ELSE \
                (SELECT \(Self.room("\"g\".\"x\"", elements: nil)) FROM (SELECT \(value) AS "x" OFFSET 0) AS "g") END
                """
        case .json(.setElement), .setMember, .computeMember:
            return "CASE WHEN \(condition) THEN octet_length((\(value))::text) <= 1048576 ELSE false END"
        case .array(let form):
            return text(of: form).wholeCondition
        }
    }

    private var hasRoomForAll: StatementTemplate {
        """
        coalesce(jsonb_array_length(\(x)), 0) + jsonb_array_length(\(operand(0))) <= 10000 \
        AND octet_length((coalesce(\(x), '[]') || \(operand(0)))::text) <= 1048576
        """
    }

    /// Whether a result is short enough to be stored.
    ///
    /// - Parameter elements: the element type of a typed array; nil for JSON.
    static func room(_ x: SQL, elements: RowPlan.Element?) -> StatementTemplate {
        if let elements { return ArrayOperatorText.room(x, elements) }
        return """
            CASE WHEN jsonb_typeof(\(x)) = 'array' THEN jsonb_array_length(\(x)) <= 10000 ELSE true END \
            AND coalesce(octet_length(\(x)::text), 0) <= 1048576
            """
    }
}
