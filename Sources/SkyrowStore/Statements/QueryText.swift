internal import SkyrowJSON
internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowQuery

/// The SQL interpreter of a resolved query: what each column, predicate, order and join is in its statement.
///
/// The record that is asked about is the alias `r`, those behind references are `j1`, `j2`, … . NULL behaves as in SQL,
/// which is the logic of three values that ``ResolvedPredicate`` asks for. Texts are compared by their bytes: a column
/// of another collation gets an explicit one where its own would decide otherwise.
struct QueryText {
    let root: RecordTable
    /// The tables of the joins, in their order.
    let joined: [RecordTable]
    /// The tables of the queries inside of the predicate, and what the caller may read of them.
    var subqueries = Subqueries()
    /// The place of this one among them; nil for the whole query.
    var number: Int?

    /// What the conditions of queries inside of a predicate are made of.
    struct Subqueries {
        /// Those that the whole query is about, seen from inside of it.
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
        if let owner = column.onlyOwner { sql = "(CASE WHEN \(alias).\"_owner\" = \(owner) THEN \(sql) END)" }
        return sql
    }

    /// A column as it is compared; `NULL` stays what it is.
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

    /// A column for whose comparison equality counts.
    func equated(_ column: ResolvedColumn) -> SQL {
        // Both numbers by their bits; PostGIS has a cast for that, which no search path has to find.
        if column.kind == .location || column.kind == .geometry { return "\(value(column))::bytea" }
        // The text in lower case has the collation of what the function is given.
        return inBytes(value(column), column.collation.equatesByBytes || column.folds || !column.kind.isText)
    }

    /// A column for whose comparison the order counts.
    func ordered(_ column: ResolvedColumn) -> SQL {
        let isBytes = column.collation.ordersByBytes || (column.folds && !column.collation.equatesByBytes)
        return inBytes(value(column), isBytes || !column.kind.isText)
    }

    private func inBytes(_ text: SQL, _ isSo: Bool) -> SQL {
        isSo ? text : "\(text) COLLATE \"C\""
    }

    private func compared(_ column: ResolvedColumn, _ relation: Relation) -> SQL {
        relation.isOrder ? ordered(column) : equated(column)
    }

    func identifier(_ column: ResolvedColumn) -> SQLIdentifier {
        switch column.place {
        case .field(_, let position): table(of: column).columns[position].identifier
        case .metadata(let field): ReservedColumn(field).identifier
        case .element: Self.elementColumn
        }
    }

    /// The column of a field; nil for metadata.
    func column(_ column: ResolvedColumn) -> RecordColumn? {
        guard case .field(_, let position) = column.place else { return nil }
        return table(of: column).columns[position]
    }

    private func table(of column: ResolvedColumn) -> RecordTable {
        column.join.map { joined[$0] } ?? root
    }

    // MARK: Joins

    private static let aliases: [SQLIdentifier] = [
        "j1", "j2", "j3", "j4", "j5", "j6", "j7", "j8", "j9", "j10", "j11", "j12", "j13", "j14", "j15", "j16",
    ]

    /// The alias of a join's record, or of the record that is asked about.
    func alias(_ join: Int?) -> SQLIdentifier {
        guard let number else { return join.map { Self.aliases[$0] } ?? "r" }
        return Self.nestedAliases[number][join.map { $0 + 1 } ?? 0]
    }

    /// `s1` for the records of the first query inside of a predicate, `s1j1` for the first that it joins.
    private static let nestedAliases = (1...(Subquery.maximumCount + RecordPredicate.maximumLists)).map { number in
        [SQLIdentifier(subqueryAt: number)]
            + (1...maximumJoinsOfAQuery).map { SQLIdentifier(subqueryAt: number, join: $0) }
    }

    /// Joins the record behind a reference by its primary key, so that rows never multiply, and by the condition that
    /// the caller may read it: all columns of any other are NULL.
    ///
    /// ```sql
    /// LEFT JOIN "app"."category" AS "j1" ON "j1"."_id" = "r"."category" AND <access>
    /// ```
    func join(
        _ number: Int,
        _ join: ResolvedJoin,
        _ visibility: ResolvedVisibility
    ) -> SQL {
        let alias = alias(number)
        let conditions = visibility.referenced.map { admission($0, join: number) }
        let access = conditions.count == 1 ? conditions[0] : "(\(conditions.joined(separator: " OR ")))"
        return """
            LEFT JOIN \(joined[number].qualifiedName) AS \(alias) \
            ON \(alias)."_id" = \(key(join)) AND \(access)
            """
    }

    /// The condition that the caller may read a join's record, or the record that is asked about.
    ///
    /// Its text is kept with the table: it is the longest part of a statement and seldom new.
    func admission(_ scope: AccessScope, join: Int?) -> SQL {
        let table = join.map { joined[$0] } ?? root
        let text = StatementText.readCondition(scope.shape, on: alias(join))
        return table.shapes.template(text, on: table).binding { parameter, values in
            guard case .read(let part) = parameter else { return }
            scope.append(part, to: &values)
        }
    }

    /// The reference in the collation of the ids, whose index finds the record.
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
        switch predicate {
        case .and(let parts): return all(parts, separator: " AND ", empty: "true")
        case .or(let parts): return all(parts, separator: " OR ", empty: "false")
        case .not(let part): return "NOT (\(condition(part)))"
        case .none(let parts): return "(\(all(parts, separator: " OR ", empty: "false"))) IS NOT TRUE"
        case .unknown: return "NULL::boolean"
        case .isMissing(let column): return "\(value(column)) IS NULL"
        case .isPresent(let column): return "\(value(column)) IS NOT NULL"
        // True or false for every value and NULL for NULL, so that `not` of it matches nothing either.
        case .constant(let column, true): return "\(value(column)) = \(value(column))"
        case .constant(let column, false): return "\(value(column)) <> \(value(column))"
        case .comparison(let column, let relation, let literal):
            return "\(compared(column, relation)) \(relation.sign) \(literal.sql)"
        case .columns(let left, let relation, let right): return columns(left, relation, right)
        case .pattern(let column, let pattern): return "\(equated(column)) LIKE \(pattern)"
        case .match(let column, let words):
            return has(words, column)
        case .regex(let column, let pattern): return matching(column, pattern)
        case .suffix(let column, let text) where hasTrigrams(column, for: text):
            return "\(equated(column)) LIKE \("%" + text.escapedForPattern)"
        case .substring(let column, let text) where hasTrigrams(column, for: text):
            return "\(equated(column)) LIKE \("%" + text.escapedForPattern + "%")"
        case .suffix(let column, let text): return "right(\(equated(column)), char_length(\(text))) = \(text)"
        case .substring(let column, let text): return "strpos(\(equated(column)), \(text)) > 0"
        case .isOneOf(let column, let list): return "\(equated(column)) = ANY(\(list.sql))"
        case .hasID(let column, let wireIDs): return hasID(column, wireIDs)
        case .holdsText(let column, let text): return "\(value(column)) ? \(text)"
        case .json(let column, let condition): return condition.sql(value(column))
        case .array(let column, let relation, let list): return array(column, relation, list)
        case .place(let column, let place): return self.place(column, place)
        case .covers(let column, let location): return covers(column, location)
        case .isFound(let column, let query): return isFound(column, by: query)
        case .isNotFound(let column, let query):
            return "CASE WHEN \(value(column)) IS NOT NULL THEN \(isNotFound(column, by: query)) END"
        case .isMember(let column, let owner): return isMember(column, of: owner)
        case .any(let elements): return any(elements)
        case .all(let elements): return all(elements)
        case .hasEach(let elements): return hasEach(elements)
        }
    }

    /// Whether an index of trigrams finds a part of a text, for which it has to be asked by a pattern.
    func hasTrigrams(_ column: ResolvedColumn, for text: String) -> Bool {
        guard column.reading == .stored, case .field(let field, _) = column.place, text.unicodeScalars.count >= 3 else {
            return false
        }
        let table = column.join.map { joined[$0] } ?? root
        return table.indexes.contains { $0.hasTrigrams(of: field, folded: column.folds) }
    }

    private func all(_ parts: [ResolvedPredicate], separator: SQL, empty: SQL) -> SQL {
        if parts.isEmpty { return empty }
        var result = SQL()
        for (index, part) in parts.enumerated() {
            if index > 0 { result += separator }
            result += "(\(condition(part)))"
        }
        return result
    }

    private func columns(_ left: ResolvedColumn, _ relation: Relation, _ right: ResolvedColumn) -> SQL {
        switch (left.kind, right.kind) {
        case (.integer, .number): integer(left, relation, beside: right)
        case (.number, .integer): integer(right, relation.turned, beside: left)
        default:
            "\(around(left).compared(left, relation)) \(relation.sign) \(around(right).compared(right, relation))"
        }
    }

    /// An integer column beside one of doubles, without rounding: PostgreSQL would compare both as doubles.
    ///
    /// NaN is above every number. What is NULL comes first, since a comparison with it is NULL whatever the other is.
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

    /// Equality with one of some ids that clients see; in a form that an index serves, but for `_union`.
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
            order += ordered(key.column)
            order.append(raw: key.ending)
        }
        return order
    }
}

extension ResolvedSort {
    /// What stands behind the column in an order; PostgreSQL's own place of NULL is not mentioned.
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
    fileprivate var sign: SQL {
        switch self {
        case .equal: "="
        case .unequal: "<>"
        case .less: "<"
        case .lessOrEqual: "<="
        case .greater: ">"
        case .greaterOrEqual: ">="
        }
    }
}

extension ResolvedLiteral {
    var sql: SQL {
        switch self {
        case .text(let text): "\(text)"
        case .integer(let integer): "\(integer)"
        case .number(let number): "\(number)"
        case .decimal(let number): "\(number.description)::numeric"
        case .boolean(let flag): "\(flag)"
        case .datetime(let instant): "\(PostgresTimestamp(microsecondsSince2000: instant.microseconds))"
        case .bytes(let bytes): "\(bytes)"
        case .location(let location): "\(location.ewkb)"
        case .geometry(let geometry): "\(geometry.ewkb)"
        }
    }
}

extension ResolvedList {
    var sql: SQL {
        switch self {
        case .texts(let texts): "\(texts)"
        case .integers(let integers): "\(integers)"
        case .numbers(let numbers): "\(numbers)"
        case .decimals(let numbers): "\(numbers.map(\.description))::numeric[]"
        case .booleans(let flags): "\(flags)"
        case .datetimes(let instants):
            "\(instants.map { PostgresTimestamp(microsecondsSince2000: $0.microseconds) })"
        case .bytes(let strings): "\(strings)"
        case .locations(let locations): "\(locations.map(\.ewkb))"
        }
    }
}

extension ReservedColumn {
    init(_ field: MetadataField) {
        switch field {
        case .id: self = .id
        case .database: self = .database
        case .owner: self = .owner
        case .access: self = .access
        case .createdAt: self = .createdAt
        case .createdBy: self = .createdBy
        case .updatedAt: self = .updatedAt
        case .updatedBy: self = .updatedBy
        case .revision: self = .revision
        }
    }
}
