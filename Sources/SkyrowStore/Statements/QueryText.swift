internal import SkyrowJSON
internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowQuery

/// The SQL interpreter of a resolved query: prints each column, predicate, order and join of its statement.
///
/// The root record has the alias `r`, referenced records have `j1`, `j2`, … . NULL behaves as in SQL, which is the three-valued
/// logic of ``ResolvedPredicate``. Texts are compared by their bytes: a column with another collation gets an explicit one where
/// its collation would compare differently.
struct QueryText {
    let root: RecordTable
    /// The tables of the joins, in their order.
    let joined: [RecordTable]
    /// The tables of the subqueries of the predicate, and what the caller may read of them.
    var subqueries = Subqueries()
    /// The number of the subquery that this interpreter is for; nil for the whole query.
    var number: Int?

    /// What the conditions of subqueries are made from.
    struct Subqueries {
        /// The tables of the whole query, seen from inside of a subquery.
        var outermost: (root: RecordTable, joined: [RecordTable])?
        var tables: [(root: RecordTable, joined: [RecordTable])] = []
        var visibility: ResolvedVisibility?
    }

    // MARK: Columns

    /// `"r"."title"`, as it is stored.
    func stored(_ column: ResolvedColumn) -> SQL {
        if case .element(let depth) = column.place { return Self.element(atDepth: depth) }
        if case .relation = column.kind { return "ARRAY[\(owner(of: column))]" }
        let alias = alias(column.join)
        var sql: SQL = "\(alias).\(identifier(column))"
        if case .array(let element) = column.kind { sql = self.column(column)?.inComparison(sql, of: element) ?? sql }
        if let limit = column.limit { sql = "(CASE WHEN \(limit.condition(on: alias)) THEN \(sql) END)" }
        return sql
    }

    /// The value of a column that comparisons use; NULL stays NULL.
    func value(_ column: ResolvedColumn) -> SQL {
        guard column.folds else { return unfolded(column) }
        return "\(root.schema).\"_fold\"(\(inBytes(unfolded(column), column.collation.equatesByBytes)))"
    }

    private func unfolded(_ column: ResolvedColumn) -> SQL {
        if case .distance(let center) = column.reading { return distance(of: column, from: center) }
        if case .members(let number, _) = column.reading { return memberCount(of: column, number) }
        if case .rank(let words) = column.reading { return rank(of: words, in: column) }
        let stored = read(stored(column), column.reading)
        return column.readsWireID ? "(\(StoredID.wireIDExpression(stored)))" : stored
    }

    /// A column in the form for equality.
    func equated(_ column: ResolvedColumn) -> SQL {
        // Compares both coordinates by their bits. The cast to `bytea` of PostGIS needs no search path.
        if column.kind == .location || column.kind == .geometry { return "\(value(column))::bytea" }
        // The result of `_fold` has the collation of its argument.
        return inBytes(value(column), column.collation.equatesByBytes || column.folds || !column.kind.isText)
    }

    /// A column in the form for ordering.
    func ordered(_ column: ResolvedColumn) -> SQL {
        if let language = column.sortLanguage {
            return "\(value(column)) COLLATE pg_catalog.\(SQLIdentifier(collationOf: language))"
        }
        let isBytes = column.collation.ordersByBytes || (column.folds && !column.collation.equatesByBytes)
        return inBytes(value(column), isBytes || !column.kind.isText)
    }

    private func inBytes(_ text: SQL, _ isSo: Bool) -> SQL {
        isSo ? text : "\(text) COLLATE \"C\""
    }

    private func compared(_ column: ResolvedColumn, _ relation: Relation) -> SQL {
        relation.isOrder ? ordered(column) : equated(column)
    }

    private func append(compared column: ResolvedColumn, _ relation: Relation, to sql: inout SQL) {
        guard isPlain(column), relation.isOrder ? column.collation.ordersByBytes : column.collation.equatesByBytes
        else {
            sql += compared(column, relation)
            return
        }
        append(plain: column, to: &sql)
    }

    /// Whether a column is compared as it is stored, apart from its collation.
    private func isPlain(_ column: ResolvedColumn) -> Bool {
        guard column.reading == .stored, !column.folds, !column.readsWireID, column.limit == nil,
            column.sortLanguage == nil
        else { return false }
        switch column.kind {
        case .decimal, .database: return false
        case let kind: guard kind.isSortable else { return false }
        }
        if case .element = column.place { return false }
        return true
    }

    /// `"r"."title"`
    private func append(plain column: ResolvedColumn, to sql: inout SQL) {
        sql.append(alias(column.join))
        sql.append(raw: ".")
        sql.append(identifier(column))
    }

    func identifier(_ column: ResolvedColumn) -> SQLIdentifier {
        switch column.place {
        case .field(_, let position): table(of: column).column(at: position).identifier
        case .metadata(let column): column.identifier
        case .element: Self.elementColumn
        }
    }

    /// The column of a field; nil for metadata.
    func column(_ column: ResolvedColumn) -> RecordColumn? {
        guard case .field(_, let position) = column.place else { return nil }
        return table(of: column).column(at: position)
    }

    private func table(of column: ResolvedColumn) -> RecordTable {
        column.join.map { joined[$0] } ?? root
    }

    // MARK: Joins

    private static let rootAlias: SQLIdentifier = "r"
    private static let aliases: [SQLIdentifier] = [
        "j1", "j2", "j3", "j4", "j5", "j6", "j7", "j8", "j9", "j10", "j11", "j12", "j13", "j14", "j15", "j16",
    ]

    /// The alias of a join's record, or of the root record.
    func alias(_ join: Int?) -> SQLIdentifier {
        guard let number else { return join.map { Self.aliases[$0] } ?? Self.rootAlias }
        return Self.nestedAliases[number][join.map { $0 + 1 } ?? 0]
    }

    /// `s1` for the records of the first subquery, `s1j1` for its first join.
    private static let nestedAliases = (1...(Subquery.maximumCount + RecordPredicate.maximumLists)).map { number in
        [SQLIdentifier(subqueryAt: number)]
            + (1...maximumJoinsOfAQuery).map { SQLIdentifier(subqueryAt: number, join: $0) }
    }

    /// Joins the record behind a reference by its primary key, so that rows never multiply, and by the condition that the caller
    /// may read it: all columns of an unreadable record are NULL.
    ///
    /// ```sql
    /// LEFT JOIN "app"."category" AS "j1" ON "j1"."_id" = "r"."category" AND <access>
    /// ```
    func join(_ number: Int, _ join: ResolvedJoin, _ visibility: ResolvedVisibility) -> SQL {
        let alias = alias(number)
        let conditions = visibility.referenced(joined[number].name).map { admission($0, join: number) }
        let access = conditions.count == 1 ? conditions[0] : "(\(conditions.joined(separator: " OR ")))"
        return """
            LEFT JOIN \(joined[number].qualifiedName) AS \(alias) \
            ON \(alias)."_id" = \(key(join)) AND \(access)
            """
    }

    /// The condition that the caller may read a join's record, or the root record.
    ///
    /// Its text is cached with the table: it is the longest part of a statement and seldom new.
    func admission(_ scope: AccessScope, join: Int?) -> SQL {
        let table = join.map { joined[$0] } ?? root
        let text = StatementText.readCondition(scope.shape, on: alias(join))
        return table.shapes.template(text, on: table).binding { parameter, values in
            guard case .access(let part) = parameter else { return }
            scope.append(part, to: &values)
        }
    }

    /// The reference in the collation of the ids, so that their index finds the record.
    func key(_ join: ResolvedJoin) -> SQL {
        key(join.reference, ofIDsIn: join.idCollation)
    }

    func key(_ column: ResolvedColumn, ofIDsIn idCollation: TextCollation) -> SQL {
        let reference = stored(column)
        switch (idCollation, column.collation) {
        case (.bytes, .bytes), (.bytes, .database), (.bytes, .databaseBytes), (.database, .database),
            (.databaseBytes, .databaseBytes), (.database, .databaseBytes), (.databaseBytes, .database):
            return reference
        case (.bytes, .other), (.other, _):
            return "\(reference) COLLATE \"C\""
        case (.database, .bytes), (.database, .other), (.databaseBytes, .bytes), (.databaseBytes, .other):
            return "\(reference) COLLATE \"default\""
        }
    }

    // MARK: Predicates

    func condition(_ predicate: ResolvedPredicate) -> SQL {
        var sql = SQL()
        append(predicate, to: &sql)
        return sql
    }

    /// Appends to one buffer: a predicate may have a thousand conditions, and most are comparisons.
    func append(_ predicate: ResolvedPredicate, to sql: inout SQL) {
        switch predicate {
        case .and(let parts): append(parts, joinedBy: " AND ", empty: "true", to: &sql)
        case .or(let parts): append(parts, joinedBy: " OR ", empty: "false", to: &sql)
        case .not(let part):
            sql.append(raw: "NOT (")
            append(part, to: &sql)
            sql.append(raw: ")")
        case .none(let parts):
            sql.append(raw: "(")
            append(parts, joinedBy: " OR ", empty: "false", to: &sql)
            sql.append(raw: ") IS NOT TRUE")
        case .comparison(let column, let relation, let literal):
            append(compared: column, relation, to: &sql)
            sql.append(raw: relation.sign)
            literal.bind(to: &sql)
        default: sql += single(predicate)
        }
    }

    private func append(
        _ parts: [ResolvedPredicate],
        joinedBy separator: StaticString,
        empty: StaticString,
        to sql: inout SQL
    ) {
        if parts.isEmpty { sql.append(raw: empty) }
        for (index, part) in parts.enumerated() {
            if index > 0 { sql.append(raw: separator) }
            sql.append(raw: "(")
            append(part, to: &sql)
            sql.append(raw: ")")
        }
    }

    /// A condition that has no case in ``append(_:to:)``.
    private func single(_ predicate: ResolvedPredicate) -> SQL {
        switch predicate {
        case .and, .or, .not, .none, .comparison: return condition(predicate)
        case .unknown: return "NULL::boolean"
        case .isMissing(let column): return "\(value(column)) IS NULL"
        case .isPresent(let column): return "\(value(column)) IS NOT NULL"
        // True or false for every value and NULL for NULL, so that the negation does not match NULL either.
        case .constant(let column, true): return "\(value(column)) = \(value(column))"
        // With an empty search path no operator for locations is found.
        case .constant(let column, false) where column.kind == .location:
            return "NULLIF(\(value(column)) IS NULL, true)"
        case .constant(let column, false): return "\(value(column)) <> \(value(column))"
        case .columns(let left, let relation, let right): return columns(left, relation, right)
        case .text(let column, let test, let text): return self.text(column, test, text)
        case .match(let column, let words):
            return has(words, column)
        case .regex(let column, let pattern): return matching(column, pattern)
        case .isOneOf(let column, let list): return "\(equated(column)) = ANY(\(list.sql))"
        case .hasID(let column, let wireIDs): return hasID(column, wireIDs)
        case .holdsText(let column, let text): return "\(value(column)) ? \(text)"
        case .json(let column, let relation, let values): return relation.sql(value(column), values)
        case .array(let column, let relation, let list): return array(column, relation, list)
        case .place(let column, let place): return self.place(column, place)
        case .covers(let column, let location): return covers(column, location)
        case .isFound(let column, let query): return isFound(column, by: query)
        case .isNotFound(let column, let query):
            return "CASE WHEN \(value(column)) IS NOT NULL THEN \(isNotFound(column, by: query)) END"
        case .isMember(let column, let owner): return isMember(column, of: owner)
        case .isRelated(let column, let relation): return isRelated(column, relation)
        case .any(let elements): return any(elements)
        case .all(let elements): return all(elements)
        case .hasEach(let elements): return hasEach(elements)
        }
    }

    /// Tests a text with another one.
    private func text(_ column: ResolvedColumn, _ test: TextTest, _ text: String) -> SQL {
        let sql = equated(column)
        switch test {
        case .pattern: return "\(sql) LIKE \(text)"
        case .suffix where hasTrigrams(column, for: text): return "\(sql) LIKE \("%" + text.escapedForPattern)"
        case .suffix: return "right(\(sql), char_length(\(text))) = \(text)"
        case .substring where hasTrigrams(column, for: text):
            return "\(sql) LIKE \("%" + text.escapedForPattern + "%")"
        case .substring: return "strpos(\(sql), \(text)) > 0"
        }
    }

    /// Whether a trigram index finds a part of a text, which requires a `LIKE` pattern.
    func hasTrigrams(_ column: ResolvedColumn, for text: String) -> Bool {
        guard column.reading == .stored, case .field(let field, _) = column.place, text.unicodeScalars.count >= 3 else {
            return false
        }
        let table = column.join.map { joined[$0] } ?? root
        return table.indexes.contains { $0.hasTrigrams(of: field, folded: column.folds) }
    }

    private func columns(_ left: ResolvedColumn, _ relation: Relation, _ right: ResolvedColumn) -> SQL {
        switch (left.kind, right.kind) {
        case (.integer, .number): integer(left, relation, beside: right)
        case (.number, .integer): integer(right, relation.turned, beside: left)
        default:
            "\(around(left).compared(left, relation))\(raw: relation.sign)\(around(right).compared(right, relation))"
        }
    }

    /// Compares an integer column with a column of doubles without rounding: PostgreSQL would compare both as doubles.
    ///
    /// NaN is above every number. NULL is tested first, since a comparison with NULL is NULL for any other value.
    private func integer(_ integer: ResolvedColumn, _ relation: Relation, beside number: ResolvedColumn) -> SQL {
        let i = around(integer).value(integer)
        let d = around(number).value(number)
        let (above, below, whole): (SQL, SQL, SQL) =
            switch relation {
            case .less: ("true", "false", "\(i) < ceil(\(d))::bigint")
            case .lessOrEqual: ("true", "false", "\(i) <= floor(\(d))::bigint")
            case .greater: ("false", "true", "\(i) > floor(\(d))::bigint")
            case .greaterOrEqual: ("false", "true", "\(i) >= ceil(\(d))::bigint")
            case .equal: ("false", "false", "\(i) = floor(\(d))::bigint AND \(d) = floor(\(d))")
            case .unequal: ("true", "true", "\(i) <> floor(\(d))::bigint OR \(d) <> floor(\(d))")
            }
        return """
            CASE WHEN \(i) IS NULL THEN NULL WHEN \(d) >= 9223372036854775808 THEN \(above) \
            WHEN \(d) < -9223372036854775808 THEN \(below) ELSE \(whole) END
            """
    }

    /// Equality with one of some ids that clients see, in a form that an index serves, except in `_union`.
    private func hasID(_ column: ResolvedColumn, _ wireIDs: [String]) -> SQL {
        let sql = equated(column)
        switch column.idForms {
        case .plain:
            if wireIDs.count == 1 { return "\(sql) = \(wireIDs[0])" }
            return "\(sql) = ANY(\(wireIDs))"
        case .prefixed(let prefix):
            if wireIDs.count == 1 { return "\(sql) = \(prefix + wireIDs[0])" }
            return "\(sql) = ANY(\(wireIDs.map { prefix + $0 }))"
        case .either(let prefix):
            return "\(sql) = ANY(\(wireIDs + wireIDs.map { prefix + $0 }))"
        case .any:
            return "(\(StoredID.wireIDExpression(sql))) = ANY(\(wireIDs))"
        }
    }

    // MARK: Order

    /// `"r"."stars" DESC, "r"."_id" DESC`
    func order(_ sort: some Sequence<ResolvedSort>) -> SQL {
        var order = SQL()
        for (place, key) in sort.enumerated() {
            if place > 0 { order.append(raw: ", ") }
            append(compared: key.column, .less, to: &order)
            order.append(raw: key.ending)
        }
        return order
    }
}

extension ResolvedSort {
    /// The direction of a key in `ORDER BY`; PostgreSQL's default position of NULL is left out.
    var ending: StaticString {
        switch (direction, missingComesFirst || isNeverMissing, !missingComesFirst || isNeverMissing) {
        case (.ascending, _, true): ""
        case (.ascending, _, false): " NULLS FIRST"
        case (.descending, true, _): " DESC"
        case (.descending, false, _): " DESC NULLS LAST"
        }
    }
}

extension Relation {
    /// The operator with spaces around it.
    fileprivate var sign: StaticString {
        switch self {
        case .equal: " = "
        case .unequal: " <> "
        case .less: " < "
        case .lessOrEqual: " <= "
        case .greater: " > "
        case .greaterOrEqual: " >= "
        }
    }
}
