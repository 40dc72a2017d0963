internal import SkyrowJSON
internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowQuery

// Conditions on JSON columns, values inside of JSON, and arrays.

extension QueryText {
    /// Returns the part of a stored value that a query compares.
    func read(_ stored: SQL, _ reading: ResolvedColumn.Reading) -> SQL {
        switch reading {
        case .stored, .distance, .members, .rank: return stored
        case .inside(let steps): return "NULLIF(\(Self.value(of: stored, at: steps)), 'null')"
        case .typed(let steps, let type): return Self.typed(stored, steps, type, in: root.schema)
        case .size(let steps):
            let value = Self.value(of: stored, at: steps)
            return "(CASE WHEN jsonb_typeof(\(value)) = 'array' THEN jsonb_array_length(\(value))::bigint END)"
        case .count: return "cardinality(\(stored))::bigint"
        }
    }

    /// `"app"."_json_number"(("r"."meta" #> '{size,w}'))`, in the form that an index on the value serves.
    static func typed(_ stored: SQL, _ steps: [String], _ type: JSONValueType, in schema: SQLIdentifier) -> SQL {
        "\(schema).\(type.function)(\(value(of: stored, at: steps)))"
    }

    /// `"r"."meta" #> '{size,w}'`
    private static func value(of stored: SQL, at steps: [String]) -> SQL {
        if steps.isEmpty { return stored }
        if let path = JSONPathLiteral(steps) { return "(\(stored) #> \(literal: path.text))" }
        return "(\(stored) #> \(steps))"
    }
}

extension QueryText {
    /// Compares an array with a list of values; an index serves `@>` and `&&`.
    ///
    /// References are compared in the form that clients see, which differs from the stored one only in a private database.
    func array(_ column: ResolvedColumn, _ relation: ArrayRelation, _ list: ResolvedList) -> SQL {
        let stored = equated(column)
        let sql: SQL =
            switch (column.kind, column.idForms) {
            case (.array(.reference), .either), (.array(.reference), .prefixed), (.array(.reference), .any):
                """
                (CASE WHEN \(stored) IS NOT NULL THEN ARRAY(SELECT \(StoredID.wireIDExpression("\"e\".\"id\"")) \
                FROM unnest(\(stored)) WITH ORDINALITY AS "e" ("id", "place") ORDER BY "e"."place") END)
                """
            default: stored
            }
        switch relation {
        // psql may write an array whose subscripts begin at any number. It then differs for "=", but its slice does not.
        case .equal: return "(\(sql) @> \(list.sql) AND (\(sql))[:] = \(list.sql))"
        case .holdsAll: return "\(sql) @> \(list.sql)"
        case .holdsAny: return "\(sql) && \(list.sql)"
        case .heldBy: return "\(sql) <@ \(list.sql)"
        }
    }
}

extension RecordColumn {
    /// An array of narrower numbers, which psql made, in the type that it is compared with.
    func inComparison(_ column: SQL, of element: ElementType) -> SQL {
        switch (element, oid) {
        case (.integer, .int2Array), (.integer, .int4Array): "\(column)::bigint[]"
        case (.number, .float4Array): "\(column)::double precision[]"
        default: column
        }
    }
}

extension JSONValueType {
    /// The function of `sql/schema.sql` that reads a value as this type.
    var function: SQLIdentifier {
        switch self {
        case .string: "_json_text"
        case .number: "_json_number"
        case .boolean: "_json_boolean"
        case .datetime: "_json_instant"
        }
    }
}

/// A JSON path that is part of a statement text, because an index on an expression does not serve a bound path.
///
/// It has letters, digits and underscores only, so that nothing in it can end the literal or the array.
struct JSONPathLiteral {
    /// `{size,w}`
    let text: String

    /// Returns nil for a path with other characters or with long steps, which must be bound.
    init?(_ steps: [String]) {
        guard steps.allSatisfy(Self.isPlain) else { return nil }
        text = "{\(steps.joined(separator: ","))}"
    }

    private static func isPlain(_ step: String) -> Bool {
        guard (1...63).contains(step.utf8.count), let first = step.utf8.first else { return false }
        // NULL would be a null element of the array.
        guard step.lowercased() != "null" else { return false }
        if isDigit(first) { return step.utf8.count <= 6 && step.utf8.allSatisfy(isDigit) }
        return step.utf8.allSatisfy { isDigit($0) || $0 == UInt8(ascii: "_") || isLetter($0) }
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }
}

extension ArrayRelation {
    /// The most values that are looked up one by one, each in the index.
    private static let maximumAlternatives = 32

    /// Returns the condition that a value of type `jsonb` has the relation to others; NULL if the value is NULL.
    ///
    /// `@>` finds scalar elements, and an index serves it. Since `[[1, 2]] @> [[1]]` is true, it only narrows the search for
    /// arrays and objects, whose elements are then compared.
    func sql(_ value: SQL, _ values: [JSONText]) -> SQL {
        switch self {
        case .equal: Self.isOneOf(value, values)
        case .holdsAll: Self.holdsAll(value, values)
        case .holdsAny: Self.holdsAny(value, values)
        case .heldBy:
            Self.ofArray(
                value,
                """
                NOT EXISTS (SELECT FROM jsonb_array_elements(\(value)) AS "e" \
                WHERE "e"."value" NOT IN (SELECT unnest(\(values.map(\.jsonb)))))
                """
            )
        }
    }

    private static func isOneOf(_ value: SQL, _ values: [JSONText]) -> SQL {
        let elements = values.filter(\.isScalar).map { JSONText.array(of: [$0]).jsonb }
        if values.count == 1 {
            guard let element = elements.first else { return "\(value) = \(values[0].jsonb)" }
            return "(\(value) = \(values[0].jsonb) OR \(value) @> \(element))"
        }
        return "(\(value) = ANY(\(values.map(\.jsonb))) OR \(value) @> ANY(\(elements)))"
    }

    private static func holdsAll(_ value: SQL, _ values: [JSONText]) -> SQL {
        if values.isEmpty { return "\(value) = \(value)" }
        let narrowed: SQL = "\(value) @> \(JSONText.array(of: values).jsonb)"
        let others = values.filter { !$0.isScalar }
        if others.isEmpty { return narrowed }
        let decided = ofArray(
            value,
            """
            NOT EXISTS (SELECT FROM unnest(\(others.map(\.jsonb))) AS "v" WHERE "v" NOT IN \
            (SELECT "e"."value" FROM jsonb_array_elements(\(value)) AS "e"))
            """
        )
        return "(\(narrowed) AND \(decided))"
    }

    private static func holdsAny(_ value: SQL, _ values: [JSONText]) -> SQL {
        if values.isEmpty { return "\(value) <> \(value)" }
        let strings = values.compactMap(\.string)
        if strings.count == values.count { return "(\(value) ?| \(strings) AND jsonb_typeof(\(value)) = 'array')" }
        if values.count <= maximumAlternatives, values.allSatisfy(\.isScalar) {
            let parts = values.map { "\(value) @> \(JSONText.array(of: [$0]).jsonb)" as SQL }
            return "(\(parts.joined(separator: " OR ")))"
        }
        return ofArray(
            value,
            """
            EXISTS (SELECT FROM jsonb_array_elements(\(value)) AS "e" \
            WHERE "e"."value" IN (SELECT unnest(\(values.map(\.jsonb)))))
            """
        )
    }

    /// Returns a condition on arrays that is false for any other value, whose elements are not read, since that would fail.
    private static func ofArray(_ value: SQL, _ condition: SQL) -> SQL {
        "CASE WHEN jsonb_typeof(\(value)) = 'array' THEN \(condition) WHEN \(value) IS NOT NULL THEN false END"
    }
}

extension JSONText {
    fileprivate var jsonb: PostgresJSONB { PostgresJSONB(utf8: utf8) }

    fileprivate static func array(of values: [JSONText]) -> JSONText {
        var text: [UInt8] = [UInt8(ascii: "[")]
        for (place, value) in values.enumerated() {
            if place > 0 { text.append(UInt8(ascii: ",")) }
            text += value.utf8
        }
        text.append(UInt8(ascii: "]"))
        return JSONText(validated: text)
    }
}
