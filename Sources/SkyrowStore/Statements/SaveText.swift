internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowQuery

/// The statement that writes the records of a group, without its values: all that its text depends on.
///
/// ```sql
/// INSERT INTO "app"."note" AS "r" ("_id", "_owner", "_created_by", "_updated_by", "title")
/// SELECT "i"."_id", $1, $2, $3, "i"."title" FROM unnest($4, $5) AS "i" ("_id", "title")
/// ON CONFLICT ("_id") DO UPDATE SET "title" = EXCLUDED."title", "_updated_at" = EXCLUDED."_updated_at", …
/// WHERE <write access> RETURNING …
/// ```
///
/// Tables keep the texts by these members (``StatementText``), and ``SaveStatement`` binds the values of their parameters.
struct SaveText: Hashable, Sendable {
    /// How references to other records are settled.
    struct References: Hashable, Sendable {
        /// What the caller may read of its own private database, when the records are written there.
        var own: AccessShape?
        /// The table of each reference among the columns, in order, and where `own` is given of each array of references;
        /// nil when the catalog has no such type.
        var targets: [Target?]
        /// Some lead to records that the same request may write.
        var hasPending: Bool
    }

    /// The records that a reference may lead to.
    struct Target: Hashable, Sendable {
        var table: SQLIdentifier
        /// What the caller may read of them in the public database.
        var shared: AccessShape
    }

    /// A column that the caller changes in some records only, or in none.
    struct GuardedColumn: Hashable, Sendable {
        /// Its place in the table.
        var place: Int
        var update: FieldStanding
        /// In which records the caller sees the field: a value that is there already is no change, which it is not to learn of
        /// others.
        var read: FieldStanding
    }

    /// Who changes access lists, where not everyone does who may write.
    struct GuardedAccess: Hashable, Sendable {
        var update: FieldStanding
        /// In which records the caller sees the list: of others it is not to learn that it guessed an entry.
        var read: FieldStanding
    }

    /// How the statement is given its records.
    enum Rows: Hashable, Sendable {
        /// One record as values.
        case one
        /// Several as arrays.
        case several
        /// The ids of several as an array, and the same values for all of them.
        case alike
    }

    var shape: SaveShape
    var rows: Rows
    /// The statement is given the time of the request.
    var hasInstant: Bool
    /// The records are written to a private database.
    var isPrivate: Bool
    /// Which records the caller may change.
    var update: AccessShape
    /// nil when the foreign keys judge alone.
    var references: References?
    /// The columns that the caller may not change in every record.
    var guardedColumns: [GuardedColumn]
    /// Of a statement that sets access lists, in which records the caller changes the list; nil where it does in all of them.
    var guardedAccess: GuardedAccess?
    /// Who may ask about the stored record, where there is a condition on it.
    var read: AccessShape?
    /// Whether new records have an owner.
    var hasOwner = true
    /// What new records have that bring no access list; nil for none.
    var defaultAccess: DefaultAccess?

    func template(on table: RecordTable) -> StatementTemplate {
        template(on: table, if: nil)
    }

    /// - Parameter condition: what must hold of the stored record `r`, in a statement that changes and does not create.
    func template(on table: RecordTable, if condition: StatementTemplate?) -> StatementTemplate {
        let save: StatementTemplate =
            switch shape.kind {
            case .upsert:
                """
                \(insertion(table)) ON CONFLICT ("_id") DO UPDATE SET \(merge(table)) \
                WHERE \(mergeCondition(table)) \
                RETURNING \(table.wholeRow.columns)
                """
            case .insert:
                "\(insertion(table)) ON CONFLICT (\"_id\") DO NOTHING RETURNING \(table.wholeRow.columns)"
            case .update, .updateOfRevision:
                update(table, if: condition)
            }
        return shape.operators.isEmpty ? save : relating(save, on: table)
    }

    /// The records that ``template(on:)`` would not refuse for what only their owners change, or none.
    func guardingTemplate(on table: RecordTable) -> StatementTemplate {
        """
        SELECT "r"."_id" FROM \(table.qualifiedName) AS "r", \(source(table)) \
        WHERE "r"."_id" = "i"."_id" AND \(writeCondition)\(ownerCondition(table, values: "i"))
        """
    }

    // MARK: Insert

    private func insertion(_ table: RecordTable) -> StatementTemplate {
        var names: SQL = "\"_id\", \"_owner\", \"_created_by\", \"_updated_by\""
        var values: StatementTemplate = """
            "i"."_id", \(hasOwner ? "\(parameter: .newOwner)" : "NULL" as StatementTemplate), \
            \(parameter: .actor), \(parameter: .actor)
            """
        if isPrivate {
            names += ", \"_database\""
            values += ", \(parameter: .database)"
        }
        if hasInstant {
            names += ", \"_created_at\", \"_updated_at\""
            values += ", \(parameter: .instant), \(parameter: .instant)"
        }
        if shape.setsAccess {
            names += ", \"_access\""
            values += ", \"i\".\"_access\""
        } else if let defaultAccess {
            names += ", \"_access\""
            values += ", \(defaultAccess.list(in: table.schema))"
        }
        for (column, input) in inputs(table) {
            names += ", \(column.identifier)"
            values += ", \(input)"
        }
        return "INSERT INTO \(table.qualifiedName) AS \"r\" (\(names)) SELECT \(values) FROM \(source(table))"
    }

    /// Owner and creation never change.
    private func merge(_ table: RecordTable) -> StatementTemplate {
        var assignments: StatementTemplate = """
            "_updated_at" = EXCLUDED."_updated_at", "_updated_by" = EXCLUDED."_updated_by", \
            "_revision" = EXCLUDED."_revision"
            """
        if shape.setsAccess { assignments += ", \"_access\" = EXCLUDED.\"_access\"" }
        for (number, place) in shape.columns.enumerated() {
            let name = table.columns[place].identifier
            if let text = operatorText(at: number, in: table, values: "excluded") {
                if let value = text.value(of: stored(table.columns[place])) { assignments += ", \(name) = \(value)" }
            } else {
                assignments += ", \(name) = EXCLUDED.\(name)"
            }
        }
        return assignments
    }

    private func mergeCondition(_ table: RecordTable) -> StatementTemplate {
        judged("\(writeCondition)\(ownerCondition(table, values: "excluded"))", in: table, values: "excluded")
    }

    // MARK: Operators

    private func operatorText(at number: Int, in table: RecordTable, values: SQLIdentifier) -> OperatorText? {
        shape.operators.first { $0.place == number }.map { one in
            let column = table.columns[shape.columns[number]]
            var input: StatementTemplate = "\(values).\(column.identifier)"
            var storedIDs: ((StatementTemplate) -> StatementTemplate)?
            if one.form.element != nil {
                if case .array(.reference) = column.type, let (target, own) = elementTarget(of: number, in: table) {
                    storedIDs = { elements in self.elements(elements, to: target, own) }
                }
                let given: SQL = "\(values).\(column.identifier)"
                switch values {
                // What is proposed for the row has been looked up, and is of the type of the column.
                case "excluded": input = "\(column.type.column.selection(given, oid: column.oid))"
                default: input = storedIDs?("\(self.given(column, as: values))") ?? "\(self.given(column, as: values))"
                }
            }
            return OperatorText(
                form: one.form,
                place: number,
                input: input,
                isPrivate: isPrivate,
                storedIDs: storedIDs,
                condition: { Self.condition($0, on: table) }
            )
        }
    }

    /// What is asked of an element of an array, with its values.
    static func condition(_ predicate: ResolvedPredicate, on table: RecordTable) -> SQL {
        QueryText(root: table, joined: []).condition(predicate)
    }

    /// The stored value of a column, for an operator: an array of one type as its elements are read.
    private func stored(_ column: RecordColumn) -> SQL {
        let value: SQL = "\"r\".\(column.identifier)"
        if case .array = column.type { return column.type.column.selection(value, oid: column.oid) }
        return value
    }

    /// The table that the elements of an array are references to, where they are looked up, and what of it the caller may
    /// read in its own database.
    private func elementTarget(of number: Int, in table: RecordTable) -> (target: SQL, own: AccessShape)? {
        guard let references, let own = references.own, let target = target(at: number, of: references, in: table)
        else {
            return nil
        }
        return ("\(table.schema).\(target.table)", own)
    }

    /// The table that the column at a place among those that are written leads to.
    func target(at number: Int, of references: References, in table: RecordTable) -> Target? {
        let place = shape.columns[..<number].count {
            switch table.columns[$0].type {
            case .reference, .relation: true
            case .array(.reference): references.own != nil
            default: false
            }
        }
        return references.targets[place]
    }

    /// A condition on who may write, and then that all operators can be applied: nothing is found out about the values of
    /// a record that may not be written.
    private func judged(
        _ access: StatementTemplate,
        in table: RecordTable,
        values: SQLIdentifier
    ) -> StatementTemplate {
        let conditions = shape.operators.compactMap { one -> StatementTemplate? in
            let column = stored(table.columns[shape.columns[one.place]])
            return operatorText(at: one.place, in: table, values: values)?.condition(on: column)
        }
        guard !conditions.isEmpty else { return access }
        return "CASE WHEN \(access) THEN \(conditions.joined(separator: " AND ")) ELSE false END"
    }

    private var writeCondition: StatementTemplate {
        update.condition(on: "r")
    }

    /// That what only a record's owner changes keeps its value under all others: fields, and the access list.
    ///
    /// What rules let no one change keeps its value under the owner, too. Lists are compared
    /// as they are written; one that says the same in another order is found out after the refusal (``SaveVerdict``).
    private func ownerCondition(_ table: RecordTable, values: SQLIdentifier) -> StatementTemplate {
        let isOwner: StatementTemplate = "\"r\".\"_owner\" = \(parameter: .actor)"
        // What must hold in records of others, and what in all of them.
        var others: [StatementTemplate] = []
        var all: [StatementTemplate] = []
        for column in guardedColumns {
            // Whether the value that is sent is the one that is stored is not revealed for a hidden value.
            let kept: StatementTemplate? =
                switch column.read {
                case .all: isSame(column.place, in: table, values: values)
                case .some(let reach):
                    "\(reach.condition(on: "r", "\(parameter: .actor)")) AND \(isSame(column.place, in: table, values: values))"
                case .none: nil
                }
            switch column.update {
            case .all: break
            // One question about the owner for all of them.
            case .owned: others.append(column.read == .owned ? "false" : kept ?? "false")
            case .some(let reach):
                let may = reach.condition(on: "r", "\(parameter: .actor)")
                all.append(kept.map { "(\(may) OR \($0))" } ?? "\(may)")
            case .none: all.append(kept ?? "false")
            }
        }
        if let guardedAccess {
            var kept: StatementTemplate = "\(values).\"_access\" = \"r\".\"_access\""
            let namesNoOne: SQL = "\(values).\"_access\" - \(Self.namelessKeys) = '{}'"
            switch guardedAccess.read {
            case .all: break
            case .some(let reach): kept = "(\(kept) AND (\(namesNoOne) OR \(holds(reach))))"
            case .none: kept = "(\(kept) AND \(namesNoOne))"
            }
            switch guardedAccess.update {
            case .all: break
            case .owned: others.append(kept)
            case .some(let reach): all.append("(\(holds(reach)) OR \(kept))")
            case .none: all.append(kept)
            }
        }
        var condition: StatementTemplate = ""
        for part in all { condition += " AND \(part)" }
        if !others.isEmpty { condition += " AND (\(isOwner) OR \(others.joined(separator: " AND ")))" }
        return condition
    }

    /// The keys of subjects that name no user, role, group, key or relation.
    private static let namelessKeys: SQL = {
        let keys = Subject.nameless.map { "\(literal: $0.key)" as SQL }
        return "ARRAY[\(keys.joined(separator: ", "))]"
    }()

    private func holds(_ reach: FieldReach) -> StatementTemplate {
        let condition = reach.condition(
            on: "r",
            "\(parameter: .actor)",
            audience: "(SELECT \(parameter: .access(.audience))::text::text[])::text[]"
        )
        return "(\(condition))"
    }

    /// Whether what is sent for the column at a place in the table is what is stored there.
    private func isSame(_ place: Int, in table: RecordTable, values: SQLIdentifier) -> StatementTemplate {
        let column = table.columns[place]
        guard !isOperated(place) else { return "false" }
        // A collation may take other bytes for the same text.
        let collation: SQL = column.collation.equatesByBytes ? "" : " COLLATE \"C\""
        var stored: SQL = "\"r\".\(column.identifier)\(collation)"
        var given = given(column, as: values)
        if case .array = column.type {
            // What is proposed for the row is of the type of the column.
            if values == "excluded" { given = column.type.column.selection(given, oid: column.oid) }
            // A slice has its places from 1 on, as what is given.
            stored = "(\(column.type.column.selection(stored, oid: column.oid)))[:]"
        }
        switch column.type {
        // The types of extensions have their operators elsewhere, and JSON may be of a type that has none.
        case .location, .geometry, .json:
            let type = column.type.column
            return """
                \(type.selection(given, oid: column.oid)) \
                IS NOT DISTINCT FROM \(type.selection(stored, oid: column.oid))
                """
        case .relation: return "false"
        // A double is compared as the column keeps it.
        case .number where column.oid == .float4:
            return "\(given)::real IS NOT DISTINCT FROM \(stored)"
        default: break
        }
        // References are compared as they would be stored.
        if values == "i", let number = shape.columns.firstIndex(of: place) {
            return "\(inputs(table)[number].1) IS NOT DISTINCT FROM \(stored)"
        }
        return "\(given) IS NOT DISTINCT FROM \(stored)"
    }

    /// Whether the column at a place in the table has an operator, which is a change whatever it makes of the value.
    private func isOperated(_ place: Int) -> Bool {
        shape.operators.contains { shape.columns[$0.place] == place }
    }

    // MARK: Update

    private func update(_ table: RecordTable, if condition: StatementTemplate?) -> StatementTemplate {
        var assignments: StatementTemplate =
            "\"_updated_by\" = \(parameter: .actor), \"_revision\" = \(table.schema).\"_revision\"()"
        if hasInstant {
            assignments += ", \"_updated_at\" = \(parameter: .instant)"
        } else {
            assignments += ", \"_updated_at\" = now()"
        }
        if shape.setsAccess { assignments += ", \"_access\" = \"i\".\"_access\"" }
        for (number, (column, input)) in inputs(table).enumerated() {
            if let text = operatorText(at: number, in: table, values: "i") {
                if let value = text.value(of: stored(column)) {
                    assignments += ", \(column.identifier) = \(value)"
                }
            } else {
                assignments += ", \(column.identifier) = \(input)"
            }
        }
        let revision: SQL = shape.kind == .updateOfRevision ? " AND \"r\".\"_revision\" = \"i\".\"_revision\"" : ""
        var access: StatementTemplate = "\(writeCondition)\(revision)\(ownerCondition(table, values: "i"))"
        if let condition, let read {
            // Nothing is found out about a record that may be written and not read.
            access += " AND \(read.condition(on: "r")) AND (\(condition))"
        }
        return """
            UPDATE \(table.qualifiedName) AS "r" SET \(assignments) FROM \(source(table)) \
            WHERE "r"."_id" = "i"."_id" AND \(judged(access, in: table, values: "i")) \
            RETURNING \(rows == .alike ? "\"r\".\"_id\"" : table.wholeRow.columns)
            """
    }

    // MARK: Records

    /// The records as rows `i`: a `VALUES` list for one, arrays of columns for several.
    ///
    /// Records that all get the same have their ids beside one row of values, however many there are.
    private func source(_ table: RecordTable) -> StatementTemplate {
        var inputs: [(name: SQL, parameter: StatementParameter)] = [("\"_id\"", .ids)]
        if shape.setsAccess { inputs.append(("\"_access\"", .accessLists)) }
        if shape.kind == .updateOfRevision { inputs.append(("\"_revision\"", .revisions)) }
        for (number, place) in shape.columns.enumerated() {
            inputs.append(("\(table.columns[place].identifier)", .column(number)))
        }
        let values = inputs.map { "\(parameter: $0.parameter)" as StatementTemplate }.joined(separator: ", ")
        let columns = inputs.map(\.name).joined(separator: ", ")
        switch rows {
        case .one: return "(VALUES (\(values))) AS \"i\" (\(columns))"
        case .several: return "unnest(\(values)) AS \"i\" (\(columns))"
        case .alike:
            let others = inputs.dropFirst()
            let row = others.map { "\(parameter: $0.parameter)" as StatementTemplate }.joined(separator: ", ")
            return """
                (SELECT "k"."_id", "v".* FROM unnest(\(parameter: .ids)) AS "k" ("_id"), \
                (VALUES (\(row))) AS "v" (\(others.map(\.name).joined(separator: ", ")))) AS "i"
                """
        }
    }

    /// What each column is given of a row `i`.
    private func inputs(_ table: RecordTable) -> [(RecordColumn, StatementTemplate)] {
        var targets = (references?.targets ?? [])[...]
        return shape.columns.map { place in
            let column = table.columns[place]
            let input = given(column, as: "i")
            switch (column.type, references) {
            case (.reference, let references?):
                guard let target = targets.popFirst() ?? nil else { return (column, "\(input)") }
                let value = reference(
                    input,
                    to: "\(table.schema).\(target.table)",
                    target.shared,
                    references,
                    isFromSameDatabase: column.onDelete == .cascade,
                    kept: """
                        (SELECT "o".\(column.identifier) FROM \(table.qualifiedName) AS "o" \
                        WHERE "o"."_id" = "i"."_id" AND "o".\(column.identifier) = \(id(input, references))), 
                        """
                )
                return (column, value)
            case (.relation, _?):
                // Its members are looked up where they are written.
                _ = targets.popFirst()
                return (column, "\(input)")
            case (.array(.reference), let references?):
                guard let own = references.own, let target = targets.popFirst() ?? nil else {
                    return (column, "\(input)")
                }
                return (column, elements("\(input)", to: "\(table.schema).\(target.table)", own))
            default:
                return (column, "\(input)")
            }
        }
    }

    /// A column of the rows that the statement is given, in the type that the column takes.
    private func given(_ column: RecordColumn, as values: SQLIdentifier) -> SQL {
        let value: SQL = "\(values).\(column.identifier)"
        return values == "i" ? column.type.column.input(value) : value
    }

    /// The stored ids of the records that the elements of an array mean in a private database: the user's own record, else
    /// the public one, whether there is such a record or not.
    ///
    /// Nothing is asked about public records, so nothing is revealed of one that the caller may not read. Ids of records
    /// that the request writes come with the prefix of the database.
    private func elements(_ input: StatementTemplate, to target: SQL, _ own: AccessShape) -> StatementTemplate {
        """
        CASE WHEN \(input) IS NULL THEN NULL ELSE ARRAY(SELECT coalesce(\
        (SELECT "t"."_id" FROM \(target) AS "t" WHERE "t"."_id" = \(parameter: .prefix) || "e"."id" \
        AND \(own.condition(on: "t"))), "e"."id") \
        FROM unnest(\(input)) WITH ORDINALITY AS "e" ("id", "place") ORDER BY "e"."place") END
        """
    }

    /// The stored id of the record a reference means, as far as the caller may read it.
    ///
    /// In a private database that is the user's own record, else the public one. A record that the caller may not read
    /// becomes `~`, an id that no row has, so that the foreign key refuses it like one that is missing; unless the
    /// saved record refers to it already, since clients send back whole records.
    ///
    /// A record that the same request may write, `~~<id>`, is taken as it is when there is none yet: the foreign key
    /// refuses it unless it has been written. One that is there is judged like any other.
    ///
    /// - Parameters:
    ///   - shared: the public records that the caller may read.
    ///   - isFromSameDatabase: whether a private record refers to no public one: it does not go with it, so by a reference that
    ///     takes it along it belongs to its own.
    ///   - kept: the reference that the record has, followed by a comma.
    func reference(
        _ input: SQL,
        to target: SQL,
        _ shared: AccessShape,
        _ references: References,
        isFromSameDatabase: Bool = false,
        kept: SQL = ""
    ) -> StatementTemplate {
        let id = id(input, references)
        var own = StatementTemplate()
        if let scope = references.own {
            own = """
                (SELECT "t"."_id" FROM \(target) AS "t" WHERE "t"."_id" = \(parameter: .prefix) || \(id) \
                AND \(scope.condition(on: "t"))), 
                """
        }
        var written: SQL = "WHEN starts_with(\(input), '~') THEN substr(\(input), 2)"
        if references.hasPending {
            written = """
                WHEN starts_with(\(input), '~') AND NOT starts_with(\(input), '~~') THEN substr(\(input), 2) \
                WHEN starts_with(\(input), '~~') AND NOT EXISTS (SELECT FROM \(target) AS "t" WHERE "t"."_id" = \(id)) \
                THEN \(id)
                """
        }
        var publicly = StatementTemplate()
        if references.own == nil || !isFromSameDatabase {
            publicly = """
                (SELECT "t"."_id" FROM \(target) AS "t" WHERE "t"."_id" = \(id) \
                AND \(shared.condition(on: "t"))), 
                """
        }
        return """
            CASE WHEN \(input) IS NULL THEN NULL \(written) ELSE coalesce(\(own)\(publicly)\(kept)'~') END
            """
    }

    /// The id that a reference is given by.
    private func id(_ input: SQL, _ references: References) -> SQL {
        references.hasPending ? "ltrim(\(input), '~')" : input
    }
}

/// Where the access list of a new record comes from that brings none.
enum DefaultAccess: Hashable, Sendable {
    case type
    /// The list of the user who saves it.
    case user
    /// That one, or where there is none that of its type.
    case userOrType

    init?(ofType: Bool, ofUser: Bool) {
        switch (ofType, ofUser) {
        case (false, false): return nil
        case (true, false): self = .type
        case (false, true): self = .user
        case (true, true): self = .userOrType
        }
    }

    func list(in schema: SQLIdentifier) -> StatementTemplate {
        let own: StatementTemplate = """
            (SELECT "a"."default_access" FROM \(schema.internal)."_user" AS "a" WHERE "a"."id" = \(parameter: .actor))
            """
        return switch self {
        case .type: "\(parameter: .defaultAccess)"
        case .user: own
        case .userOrType: "coalesce(\(own), \(parameter: .defaultAccess))"
        }
    }
}
