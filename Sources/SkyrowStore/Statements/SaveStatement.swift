internal import SkyrowModel
internal import SkyrowPostgres

/// The one statement that writes the records of a group: access, precondition, merge and the rows that come back.
///
/// ```sql
/// INSERT INTO "app"."note" AS "r" ("_id", "_owner", "_created_by", "_updated_by", "title")
/// SELECT "i"."_id", $3, $4, $5, "i"."title" FROM unnest($1, $2) AS "i" ("_id", "title")
/// ON CONFLICT ("_id") DO UPDATE SET "title" = EXCLUDED."title", "_updated_at" = EXCLUDED."_updated_at", …
/// WHERE <write access> RETURNING …
/// ```
///
/// A record that comes back was written; one that does not was refused, and only then a second question tells why.
struct SaveStatement {
    let plan: BatchPlan
    let catalog: SchemaCatalog
    let database: DatabaseScope
    let caller: Caller
    let variables: AccessVariables?
    /// The time of the request when an earlier statement of it has one already; otherwise the statement's own.
    let instant: PostgresTimestamp?

    /// The statement that writes a group; its text is kept with the table.
    func sql(for group: BatchPlan.Group) -> SQL {
        let shape = group.shape
        let key = StatementShapes.Key(
            action: .save(
                shape,
                isOne: group.members.count == 1,
                hasInstant: instant != nil,
                isMaster: caller.isMaster
            ),
            access: AccessScope(caller: caller, level: .write, database: database).shape
        )
        return group.table.shapes.shape(key) { text(for: group) }.binding(values(of: group))
    }

    /// The same, made anew.
    func text(for group: BatchPlan.Group) -> SQL {
        let members = group.members.map { plan.writes[$0] }
        switch group.shape.kind {
        case .upsert:
            return """
                \(insertion(members, group)) ON CONFLICT ("_id") DO UPDATE SET \(merge(group)) \
                WHERE \(writeCondition)\(fieldCondition(group, values: "EXCLUDED")) \
                RETURNING \(group.table.wholeRow.columns)
                """
        case .insert:
            return """
                \(insertion(members, group)) ON CONFLICT ("_id") DO NOTHING \
                RETURNING \(group.table.wholeRow.columns)
                """
        case .update, .updateOfRevision:
            return update(members, group)
        }
    }

    // MARK: Insert

    private func insertion(_ members: [RecordWrite], _ group: BatchPlan.Group) -> SQL {
        let user = Self.list([caller.userID])
        var names: SQL = "\"_id\", \"_owner\", \"_created_by\", \"_updated_by\""
        var values: SQL = "\"i\".\"_id\", \(Self.list([owner])), \(user), \(user)"
        if case .user(let user) = database {
            names += ", \"_database\""
            values += ", \(user)"
        }
        if let instant {
            names += ", \"_created_at\", \"_updated_at\""
            values += ", \(instant), \(instant)"
        }
        if group.shape.setsAccess {
            names += ", \"_access\""
            values += ", \"i\".\"_access\""
        }
        for place in group.shape.columns {
            let column = group.table.columns[place]
            names += ", \(column.identifier)"
            values += ", \(value(of: column, in: group.table))"
        }
        return """
            INSERT INTO \(group.table.qualifiedName) AS "r" (\(names)) SELECT \(values) FROM \(source(members, group))
            """
    }

    /// Whose a new record is: the caller's, or in a private database its user's.
    private var owner: UserID? {
        switch database {
        case .user(let user): user
        case .everyone, .union: caller.userID
        }
    }

    /// Owner and creation never change.
    private func merge(_ group: BatchPlan.Group) -> SQL {
        var assignments: SQL = """
            "_updated_at" = EXCLUDED."_updated_at", "_updated_by" = EXCLUDED."_updated_by", \
            "_revision" = EXCLUDED."_revision"
            """
        if group.shape.setsAccess { assignments += ", \"_access\" = EXCLUDED.\"_access\"" }
        for place in group.shape.columns {
            let name = group.table.columns[place].identifier
            assignments += ", \(name) = EXCLUDED.\(name)"
        }
        return assignments
    }

    private var writeCondition: SQL {
        AccessScope(caller: caller, level: .write, database: database).condition(on: "r", variables: variables)
    }

    /// That fields which only a record's owner changes keep their value under anybody else.
    ///
    /// Such fields are plain values and no references, so that what is sent is what would be stored.
    private func fieldCondition(_ group: BatchPlan.Group, values: SQLIdentifier) -> SQL {
        let columns = ownersColumns(group)
        guard !columns.isEmpty else { return "" }
        // Whether the value that is sent is the one that is stored is not told of a value that is not shown.
        let same = columns.map { column -> SQL in
            column.isForOwnersEyes
                ? "false" : "\(values).\(column.identifier) IS NOT DISTINCT FROM \"r\".\(column.identifier)"
        }
        return " AND (\"r\".\"_owner\" = \(Self.list([caller.userID])) OR \(same.joined(separator: " AND ")))"
    }

    private func ownersColumns(_ group: BatchPlan.Group) -> [RecordColumn] {
        guard !group.table.rules.isEmpty else { return [] }
        return group.shape.columns.map { group.table.columns[$0] }
            .filter { group.table.rules.isForOwners($0.field, caller: caller) }
    }

    // MARK: Update

    private func update(_ members: [RecordWrite], _ group: BatchPlan.Group) -> SQL {
        var assignments: SQL =
            "\"_updated_by\" = \(Self.list([caller.userID])), \"_revision\" = \(catalog.schema).\"_revision\"()"
        if let instant {
            assignments += ", \"_updated_at\" = \(instant)"
        } else {
            assignments += ", \"_updated_at\" = now()"
        }
        if group.shape.setsAccess { assignments += ", \"_access\" = \"i\".\"_access\"" }
        for place in group.shape.columns {
            let column = group.table.columns[place]
            assignments += ", \(column.identifier) = \(value(of: column, in: group.table))"
        }
        let revision: SQL =
            group.shape.kind == .updateOfRevision ? " AND \"r\".\"_revision\" = \"i\".\"_revision\"" : ""
        return """
            UPDATE \(group.table.qualifiedName) AS "r" SET \(assignments) FROM \(source(members, group)) \
            WHERE "r"."_id" = "i"."_id" AND \(writeCondition)\(revision)\(fieldCondition(group, values: "i")) \
            RETURNING \(group.table.wholeRow.columns)
            """
    }

    // MARK: Values

    /// The records as rows `i`: a `VALUES` list for one, arrays of columns for several.
    private func source(_ members: [RecordWrite], _ group: BatchPlan.Group) -> SQL {
        let ids = members.map { StoredID($0.id.id, in: database).text }
        var names: SQL = "\"_id\""
        var values = Self.list(ids)
        if group.shape.setsAccess {
            names += ", \"_access\""
            values += ", \(Self.list(members.map { $0.access.map { PostgresJSONB($0.storedJSON) } }))"
        }
        if group.shape.kind == .updateOfRevision {
            names += ", \"_revision\""
            values += ", \(Self.list(members.map(\.expectedRevision)))"
        }
        for (place, column) in group.shape.columns.enumerated() {
            names += ", \(group.table.columns[column].identifier)"
            var column = ColumnPlaceholder()
            append(members, place, of: group, to: &column)
            values += ", \(column.sql)"
        }
        return members.count == 1 ? "(VALUES (\(values))) AS \"i\" (\(names))" : "unnest(\(values)) AS \"i\" (\(names))"
    }

    private static func list<Value: PostgresArrayElement>(_ values: [Value]) -> SQL {
        values.count == 1 ? "\(values[0])" : "\(values)"
    }

    /// Appends the values of a column in the type that its fields have.
    private func append(
        _ members: [RecordWrite],
        _ place: Int,
        of group: BatchPlan.Group,
        to values: inout some ColumnValues
    ) {
        switch group.table.columns[group.shape.columns[place]].type {
        case .string: values.append(members.map { $0.values[place].string })
        case .integer, .sequence: values.append(members.map { $0.values[place].integer })
        case .number: values.append(members.map { $0.values[place].number })
        case .boolean: values.append(members.map { $0.values[place].boolean })
        case .datetime: values.append(members.map { $0.values[place].instant })
        case .json: values.append(members.map { $0.values[place].json })
        case .reference: values.append(members.map { storedReference($0.values[place]) })
        case .bytes: values.append(members.map { $0.values[place].bytes })
        // No value is accepted for such a column.
        case .unknown: values.append(members.map { _ in nil as String? })
        }
    }

    /// The values of ``text(for:)`` in the order of its placeholders.
    func values(of group: BatchPlan.Group) -> PostgresBindings {
        let members = group.members.map { plan.writes[$0] }
        let write = AccessScope(caller: caller, level: .write, database: database)
        var values = PostgresBindings()
        switch group.shape.kind {
        case .upsert, .insert:
            values.append(owner)
            values.append(caller.userID)
            values.append(caller.userID)
            if case .user(let user) = database { values.append(user) }
            if let instant {
                values.append(instant)
                values.append(instant)
            }
        case .update, .updateOfRevision:
            values.append(caller.userID)
            if let instant { values.append(instant) }
        }
        for place in group.shape.columns {
            guard case .reference(let type) = group.table.columns[place].type, looksUpReferences, catalog[type] != nil
            else {
                continue
            }
            if case .user = database {
                values.append(StoredID.prefix(of: database))
                AccessScope(caller: caller, level: .read, database: database).bind(into: &values, variables: variables)
            }
            AccessScope(caller: caller, level: .read, database: .everyone).bind(into: &values, variables: variables)
        }
        values.append(column: members.map { StoredID($0.id.id, in: database).text })
        if group.shape.setsAccess {
            values.append(column: members.map { $0.access.map { PostgresJSONB($0.storedJSON) } })
        }
        if group.shape.kind == .updateOfRevision { values.append(column: members.map(\.expectedRevision)) }
        for place in group.shape.columns.indices {
            var column = ColumnBindings(bindings: values)
            append(members, place, of: group, to: &column)
            values = column.bindings
        }
        if group.shape.kind != .insert {
            write.bind(into: &values, variables: variables)
            if !ownersColumns(group).isEmpty { values.append(caller.userID) }
        }
        return values
    }

    // MARK: References

    /// What the statement is given for a reference: the id that clients see, or behind `~` the stored id when the
    /// target is among the records of this request.
    private func storedReference(_ value: RecordValue) -> String? {
        guard case .reference(let target) = value else { return nil }
        guard looksUpReferences, plan.writes(target) else { return target.id }
        return "~" + StoredID(target.id, in: database).text
    }

    /// The master key may refer to all public records, so the foreign key judges alone.
    private var looksUpReferences: Bool {
        switch database {
        case .everyone, .union: !caller.isMaster
        case .user: true
        }
    }

    private func value(of column: RecordColumn, in table: RecordTable) -> SQL {
        let input: SQL = "\"i\".\(column.identifier)"
        guard case .reference(let type) = column.type, looksUpReferences, let target = catalog[type] else {
            return input
        }
        return reference(input, to: target, column: column, in: table)
    }

    /// The stored id of the record a reference means, as far as the caller may read it.
    ///
    /// In a private database that is the user's own record, else the public one. A record that the caller may not read
    /// becomes `~`, an id that no row has, so that the foreign key refuses it like one that is missing; unless the
    /// saved record refers to it already, since clients send back whole records.
    private func reference(_ input: SQL, to target: RecordTable, column: RecordColumn, in table: RecordTable) -> SQL {
        let shared = AccessScope(caller: caller, level: .read, database: .everyone)
        var own = SQL()
        if case .user = database {
            let scope = AccessScope(caller: caller, level: .read, database: database)
            own = """
                (SELECT "t"."_id" FROM \(target.qualifiedName) AS "t" \
                WHERE "t"."_id" = \(StoredID.prefix(of: database)) || \(input) \
                AND \(scope.condition(on: "t", variables: variables))), 
                """
        }
        return """
            CASE WHEN \(input) IS NULL THEN NULL WHEN starts_with(\(input), '~') THEN substr(\(input), 2) \
            ELSE coalesce(\(own)\
            (SELECT "t"."_id" FROM \(target.qualifiedName) AS "t" WHERE "t"."_id" = \(input) \
            AND \(shared.condition(on: "t", variables: variables))), \
            (SELECT "o".\(column.identifier) FROM \(table.qualifiedName) AS "o" \
            WHERE "o"."_id" = "i"."_id" AND "o".\(column.identifier) = \(input)), '~') END
            """
    }
}

/// Takes the values of one column of a group.
private protocol ColumnValues {
    mutating func append<Value: PostgresArrayElement>(_ values: [Value])
}

private struct ColumnPlaceholder: ColumnValues {
    var sql = SQL()

    mutating func append<Value: PostgresArrayElement>(_ values: [Value]) {
        sql = values.count == 1 ? "\(values[0])" : "\(values)"
    }
}

private struct ColumnBindings: ColumnValues {
    var bindings: PostgresBindings

    mutating func append<Value: PostgresArrayElement>(_ values: [Value]) {
        bindings.append(column: values)
    }
}

extension PostgresBindings {
    /// One value for one record, an array for several.
    fileprivate mutating func append<Value: PostgresArrayElement>(column values: [Value]) {
        if values.count == 1 {
            append(values[0])
        } else {
            append(values)
        }
    }
}

extension RecordWrite {
    fileprivate var expectedRevision: Int64? {
        switch precondition {
        case .revision(let revision): revision
        case .isNew, nil: nil
        }
    }
}

/// The value as a column of a type takes it; nil is NULL.
extension RecordValue {
    fileprivate var string: String? { if case .string(let text) = self { text } else { nil } }
    fileprivate var integer: Int64? { if case .integer(let number) = self { number } else { nil } }
    fileprivate var number: Double? { if case .number(let number) = self { number } else { nil } }
    fileprivate var boolean: Bool? { if case .boolean(let flag) = self { flag } else { nil } }
    fileprivate var json: PostgresJSONB? {
        if case .json(let text) = self { PostgresJSONB(utf8: text.utf8) } else { nil }
    }
    fileprivate var bytes: [UInt8]? { if case .bytes(let bytes) = self { bytes } else { nil } }
    fileprivate var instant: PostgresTimestamp? {
        if case .datetime(let instant) = self {
            PostgresTimestamp(microsecondsSince2000: instant.microseconds)
        } else {
            nil
        }
    }
}
