internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowQuery

/// A record that a row of a statement has, and which of its fields.
struct SelectedRecord: Hashable {
    /// The join that brings it; nil for the record that the row is about.
    var join: Int?
    /// The places of the fields; nil for all that the caller sees.
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

/// The statements that bring the records which arrays of references of a page lead to: one for each array that inclusions lead
/// through, whatever the number of records (Documentation/Decisions/queries.md).
struct IncludedLists {
    struct Inclusion {
        let name: String
        let list: Int
        let plan: RowPlan
        let countsRecords: Bool
        /// Whether a record may be reached in several ways, of which one is sent.
        let isThroughOthers: Bool
    }

    /// In the order of their resolution: each behind the one that leads to it.
    let statements: [ListStatement]
    let inclusions: [Inclusion]
    /// Where the rows of the page have the arrays that the first lists are made of.
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

    /// The lists in the order in which they are read: those of a level at the same time.
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

/// The statement that brings the records of one list for all records that have an array of it.
///
/// Where few records are cut off, each record is read once, in the order of the lists:
///
/// ```sql
/// SELECT "r"."_id", … FROM "app"."tag" AS "r" WHERE <access> AND "r"."_id" = ANY($1) ORDER BY "r"."name", "r"."_id" LIMIT $2
/// ```
///
/// Otherwise PostgreSQL orders and cuts each list:
///
/// ```sql
/// SELECT "x".* FROM (
///     SELECT "r"."_id", …, "o"."owner" AS "_o", row_number() OVER "p" AS "_p", count(*) OVER "w"
///     FROM unnest($1, $2) WITH ORDINALITY AS "o" ("owner", "id", "place")
///     JOIN "app"."tag" AS "r" ON "r"."_id" = "o"."id" WHERE <access> WINDOW …
/// ) AS "x" WHERE "x"."_p" <= $3 ORDER BY "x"."_o", "x"."_p" LIMIT $4
/// ```
struct ListStatement {
    /// How many ids one statement looks up.
    static let maximumIDs = 100_000

    let list: ResolvedRecordList
    /// The table of the members where the list is a relation's.
    let members: SQL?
    private let text: QueryText
    private let visibility: ResolvedVisibility
    /// Whether it is asked how many records each list has.
    var countsRecords = false
    private var columns: [SQL] = []
    private var selections: [SelectedRecord: RecordSelection] = [:]
    /// How many columns the rows have so far.
    private var width = 0
    /// Where rows have the arrays of further lists, by their places.
    private(set) var arrays: [Int: Int] = [:]

    /// Where rows have the id of the list's record.
    private(set) var idColumn = 0
    /// Which of the records that have an array a row is for.
    var ownerColumn: Int { width }
    /// How many records the array leads to, where that is asked.
    var countColumn: Int? { countsRecords ? width + 2 : nil }

    init(
        _ list: ResolvedRecordList,
        members: SQL?,
        _ text: QueryText,
        _ visibility: ResolvedVisibility
    ) {
        self.list = list
        self.members = members
        self.text = text
        self.visibility = visibility
    }

    /// Adds the columns of a record, unless they are there; the plan by which it is read.
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

    /// Adds the id, unless the whole record is there.
    mutating func selectID() {
        if let known = selections.first(where: { $0.key.join == nil })?.value {
            idColumn = known.plan.idColumn
            return
        }
        idColumn = width
        columns.append("\"r\".\"_id\"")
        width += 1
    }

    /// `FROM … WHERE …`, where `FROM` is followed by something else first, or by nothing.
    private func source(_ others: SQL, joining rows: SQL = "") -> SQL {
        var source: SQL = "FROM \(others)\(text.root.qualifiedName) AS \"r\""
        if !others.text.isEmpty { source += " ON \"r\".\"_id\" = \"o\".\"id\"" }
        for (number, join) in list.joins.enumerated() { source += " \(text.join(number, join, visibility))" }
        source += rows
        let access = visibility.referenced(text.root.name).map { text.admission($0, join: nil) }
        return source + " WHERE (\(access.joined(separator: " OR ")))"
    }

    /// The statement that brings each record once, in the order of the lists where they have one.
    ///
    /// - Parameter most: how many rows there are at most.
    func sql(ids: [String], most: Int) -> SQL {
        let order: SQL = list.sort.isEmpty ? "" : " ORDER BY \(text.order(list.sort))"
        return """
            SELECT \(columns.joined(separator: ", ")) \(source("")) AND "r"."_id" = ANY(\(ids))\(order) \
            LIMIT \(Int64(most))
            """
    }

    /// The statement for relations.
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
    ///   - most: how many rows there are at most.
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
    ///   - owners: for each id, the number of the record that has it; in order.
    ///   - most: how many rows there are at most.
    func sql(owners: [Int32], ids: [String], most: Int) -> SQL {
        let order: SQL = list.sort.isEmpty ? "\"o\".\"place\"" : "\(text.order(list.sort)), \"o\".\"place\""
        let source = source("unnest(\(owners), \(ids)) WITH ORDINALITY AS \"o\" (\"owner\", \"id\", \"place\") JOIN ")
        // Counting takes as long again as cutting.
        let count: SQL = countsRecords ? ", count(*) OVER (PARTITION BY \"o\".\"owner\")" : ""
        return """
            SELECT "x".* FROM (SELECT \((columns + [""]).joined(separator: ", "))"o"."owner" AS "_o", \
            row_number() OVER (PARTITION BY "o"."owner" ORDER BY \(order)) AS "_p"\(count) \
            \(source)) AS "x" \
            WHERE "x"."_p" <= \(Int64(list.limit)) ORDER BY "x"."_o", "x"."_p" LIMIT \(Int64(most))
            """
    }
}
