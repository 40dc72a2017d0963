internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowQuery

/// A record in the rows of a statement, and which of its fields they have.
struct SelectedRecord: Hashable {
    /// The join that adds the record; nil for the root record.
    var join: Int?
    /// The positions of the fields; nil for all fields that are visible to the caller.
    var fields: [Int]?
}

extension QueryText {
    func selection(of record: SelectedRecord, showsDatabase: Bool, firstColumn: Int) -> RecordSelection {
        let table = record.join.map { joined[$0] } ?? root
        return RecordSelection(
            of: table.name,
            as: alias(record.join),
            fields: record.fields?.map { table.columns[$0] } ?? table.columns,
            naming: table.namedColumns,
            list: table.listStanding,
            showsDatabase: showsDatabase,
            firstColumn: firstColumn
        )
    }
}

/// The statements that read the records to which the arrays of references of a page lead: one statement for each array that
/// inclusions go through, for any number of records (Documentation/Decisions/queries.md).
struct IncludedLists {
    struct Inclusion {
        let name: String
        let list: Int
        let plan: RowPlan
        let countsRecords: Bool
        /// Whether several paths may lead to a record, which is sent once.
        let isThroughOthers: Bool
    }

    /// In the order of resolution: each statement follows the one that leads to it.
    let statements: [ListStatement]
    let inclusions: [Inclusion]
    /// The columns of the page with the arrays of the first lists.
    let arrays: [Int: Int]

    init(
        _ query: ResolvedQuery,
        _ resolver: Resolver<SchemaCatalog>,
        _ root: QueryText,
        arrays: [Int: Int],
        _ access: RecordAccess
    ) {
        var inclusions: [Inclusion] = []
        var statements: [ListStatement] = []
        for (place, list) in query.lists.enumerated() {
            let known = resolver.lists[place]
            let owners = list.parent.map {
                QueryText(root: resolver.lists[$0].type, joined: resolver.lists[$0].joinedTypes)
            }
            var statement = ListStatement(
                list,
                members: (owners ?? root).members(of: list.column),
                QueryText(root: known.type, joined: known.joinedTypes),
                query.visibility
            )
            for inclusion in query.inclusions where inclusion.list == place {
                if inclusion.countsRecords { statement.countsRecords = true }
                inclusions.append(
                    Inclusion(
                        name: inclusion.name,
                        list: place,
                        plan: statement.select(
                            SelectedRecord(join: inclusion.join, fields: inclusion.fields),
                            showsDatabase: access.database == .union
                        ),
                        countsRecords: inclusion.countsRecords,
                        isThroughOthers: list.parent != nil || inclusion.join != nil
                    )
                )
            }
            for (child, other) in query.lists.enumerated() where other.parent == place {
                statement.selectArray(other.column, ofList: child)
            }
            statement.selectID()
            statements.append(statement)
        }
        self.statements = statements
        self.inclusions = inclusions
        self.arrays = arrays
    }

    /// The lists by level, in the order in which they are read; those of one level are read at the same time.
    var levels: [[Int]] {
        var levels: [[Int]] = []
        var depths: [Int] = []
        for (place, statement) in statements.enumerated() {
            let depth = statement.list.parent.map { depths[$0] + 1 } ?? 0
            depths.append(depth)
            if depth == levels.count { levels.append([]) }
            levels[depth].append(place)
        }
        return levels
    }
}

/// The statement that reads the records of one list for all records that have such an array.
///
/// If few records are cut off, each record is read once, in the order of the list:
///
/// ```sql
/// SELECT "r"."_id", … FROM "app"."tag" AS "r" WHERE <access> AND "r"."_id" = ANY($1) ORDER BY "r"."name", "r"."_id" LIMIT $2
/// ```
///
/// Otherwise PostgreSQL sorts and limits each list:
///
/// ```sql
/// SELECT "x".* FROM (
///     SELECT "r"."_id", …, "o"."owner" AS "_o", row_number() OVER "p" AS "_p", count(*) OVER "w"
///     FROM unnest($1, $2) WITH ORDINALITY AS "o" ("owner", "id", "place")
///     JOIN "app"."tag" AS "r" ON "r"."_id" = "o"."id" WHERE <access> WINDOW …
/// ) AS "x" WHERE "x"."_p" <= $3 ORDER BY "x"."_o", "x"."_p" LIMIT $4
/// ```
struct ListStatement {
    /// The most ids that one statement looks up.
    static let maximumIDs = 100_000

    let list: ResolvedRecordList
    /// The table of members, if the list is a relation.
    let members: SQL?
    private let text: QueryText
    private let visibility: ResolvedVisibility
    /// Whether the number of records of each list is requested.
    var countsRecords = false
    private var columns: [SQL] = []
    private var selections: [SelectedRecord: RecordSelection] = [:]
    /// The number of columns so far.
    private var width = 0
    /// The columns with the arrays of further lists, by list.
    private(set) var arrays: [Int: Int] = [:]

    /// The column with the id of the list's record.
    private(set) var idColumn = 0
    /// The column with the number of the record that has the array.
    var ownerColumn: Int { width }
    /// The column with the number of records of the array, if it is requested.
    var countColumn: Int? { countsRecords ? width + 2 : nil }

    init(_ list: ResolvedRecordList, members: SQL?, _ text: QueryText, _ visibility: ResolvedVisibility) {
        self.list = list
        self.members = members
        self.text = text
        self.visibility = visibility
    }

    /// Adds the columns of a record unless they are there already. Returns the plan that reads them.
    mutating func select(_ record: SelectedRecord, showsDatabase: Bool) -> RowPlan {
        if let known = selections[record] { return known.plan }
        let selection = text.selection(of: record, showsDatabase: showsDatabase, firstColumn: width)
        selections[record] = selection
        columns.append(selection.columns)
        width += selection.width
        return selection.plan
    }

    mutating func selectArray(_ column: ResolvedColumn, ofList place: Int) {
        arrays[place] = width
        columns.append(text.stored(column))
        width += 1
    }

    /// Adds the id, unless the whole record is selected.
    mutating func selectID() {
        if let known = selections.first(where: { $0.key.join == nil })?.value {
            idColumn = known.plan.idColumn
            return
        }
        idColumn = width
        columns.append("\"r\".\"_id\"")
        width += 1
    }

    /// Returns `FROM … WHERE …`; `others` precedes the table and may be empty.
    private func source(_ others: SQL, joining rows: SQL = "") -> SQL {
        var source: SQL = "FROM \(others)\(text.root.qualifiedName) AS \"r\""
        if !others.text.isEmpty { source += " ON \"r\".\"_id\" = \"o\".\"id\"" }
        for (number, join) in list.joins.enumerated() { source += " \(text.join(number, join, visibility))" }
        source += rows
        let access = visibility.referenced(text.root.name).map { text.admission($0, join: nil) }
        return source + " WHERE (\(access.joined(separator: " OR ")))"
    }

    /// Returns the statement that reads each record once, in the order of the list if it has one.
    ///
    /// - Parameter most: upper bound on the number of rows.
    func sql(ids: [String], most: Int) -> SQL {
        let order: SQL = list.sort.isEmpty ? "" : " ORDER BY \(text.order(list.sort))"
        return """
            SELECT \(columns.joined(separator: ", ")) \(source("")) AND "r"."_id" = ANY(\(ids))\(order) \
            LIMIT \(Int64(most))
            """
    }

    /// Returns the statement for relations.
    ///
    /// ```sql
    /// SELECT "x".* FROM unnest($1, $2) AS "o" ("owner", "id") CROSS JOIN LATERAL (
    ///     SELECT "r"."_id", …, "o"."owner" AS "_o", row_number() OVER (ORDER BY <order>) AS "_p", count(*) OVER ()
    ///     FROM "app"."user" AS "r" JOIN "app"."post.likes" AS "m" ON "m"."_to" = "r"."_id"
    ///     WHERE <access> AND "m"."_from" = "o"."id" ORDER BY <order> LIMIT $3
    /// ) AS "x" ORDER BY "x"."_o", "x"."_p" LIMIT $4
    /// ```
    ///
    /// - Parameters:
    ///   - members: the table of the members.
    ///   - owners: for each id, the number of the record that has the relation.
    ///   - most: upper bound on the number of rows.
    func sql(members: SQL, owners: [Int32], ids: [String], most: Int) -> SQL {
        let order: SQL = list.sort.isEmpty ? "\"m\".\"_to\"" : text.order(list.sort)
        let count: SQL = countsRecords ? ", count(*) OVER ()" : ""
        return """
            SELECT "x".* FROM unnest(\(owners), \(ids)) AS "o" ("owner", "id") CROSS JOIN LATERAL (\
            SELECT \((columns + [""]).joined(separator: ", "))"o"."owner" AS "_o", \
            row_number() OVER (ORDER BY \(order)) AS "_p"\(count) \
            \(source("", joining: " JOIN \(members) AS \"m\" ON \"m\".\"_to\" = \"r\".\"_id\"")) \
            AND "m"."_from" = "o"."id" ORDER BY \(order) LIMIT \(Int64(list.limit))) AS "x" \
            ORDER BY "x"."_o", "x"."_p" LIMIT \(Int64(most))
            """
    }

    /// - Parameters:
    ///   - owners: for each id, the number of the record that has it, in ascending order.
    ///   - most: upper bound on the number of rows.
    func sql(owners: [Int32], ids: [String], most: Int) -> SQL {
        let order: SQL = list.sort.isEmpty ? "\"o\".\"place\"" : "\(text.order(list.sort)), \"o\".\"place\""
        let source = source("unnest(\(owners), \(ids)) WITH ORDINALITY AS \"o\" (\"owner\", \"id\", \"place\") JOIN ")
        // Counting doubles the time that limiting takes.
        let count: SQL = countsRecords ? ", count(*) OVER (PARTITION BY \"o\".\"owner\")" : ""
        return """
            SELECT "x".* FROM (SELECT \((columns + [""]).joined(separator: ", "))"o"."owner" AS "_o", \
            row_number() OVER (PARTITION BY "o"."owner" ORDER BY \(order)) AS "_p"\(count) \
            \(source)) AS "x" \
            WHERE "x"."_p" <= \(Int64(list.limit)) ORDER BY "x"."_o", "x"."_p" LIMIT \(Int64(most))
            """
    }
}
