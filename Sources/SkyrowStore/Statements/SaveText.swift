internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowQuery

/// The inputs that determine the text of the statement that writes the records of a group.
///
/// ```sql
/// INSERT INTO "app"."note" AS "r" ("_id", "_owner", "_created_by", "_updated_by", "title")
/// SELECT "i"."_id", $1, $2, $3, "i"."title" FROM unnest($4, $5) AS "i" ("_id", "title")
/// ON CONFLICT ("_id") DO UPDATE SET "title" = EXCLUDED."title", "_updated_at" = EXCLUDED."_updated_at", …
/// WHERE <write access> RETURNING …
/// ```
///
/// Tables cache the texts by these members (``StatementText``), and ``SaveStatement`` binds the values of their parameters.
struct SaveText: Hashable, Sendable {
    /// How references to other records are resolved.
    struct References: Hashable, Sendable {
        /// The caller's read access in its private database, if the records are written there.
        var own: AccessShape?
        /// The target of each reference column, in order, and with `own` also of each array of references; nil if the catalog has
        /// no such type.
        var targets: [Target?]
        /// Whether some references lead to records that the same request may write.
        var hasPending: Bool
    }

    /// The records that a reference may lead to.
    struct Target: Hashable, Sendable {
        var table: SQLIdentifier
        /// The caller's read access to them in the public database.
        var shared: AccessShape
    }

    /// A column that the caller may change in some records only, or in none.
    struct GuardedColumn: Hashable, Sendable {
        /// The position in the table.
        var place: Int
        var update: AccessCondition
        /// The records in which the field is visible to the caller. For others a save must not reveal whether the sent value
        /// equals the stored one.
        var read: AccessCondition
    }

    /// Who may change access lists, if not every caller who may write the record.
    struct GuardedAccess: Hashable, Sendable {
        var update: AccessCondition
        /// The records in which the list is visible to the caller. For others a save must not reveal that it guessed an entry.
        var read: AccessCondition
    }

    /// How the records are passed to the statement.
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
    /// Whether the time of the request is a parameter.
    var hasInstant: Bool
    /// Whether the records are written to a private database.
    var isPrivate: Bool
    /// The records that the caller may change.
    var update: AccessShape
    /// nil if foreign keys alone check references.
    var references: References?
    /// The columns that the caller may not change in every record.
    var guardedColumns: [GuardedColumn]
    /// In a statement that sets access lists: the records in which the caller may change the list; nil for all records.
    var guardedAccess: GuardedAccess?
    /// The caller's read access, if there is a condition on the stored record.
    var read: AccessShape?
    /// Whether new records have an owner.
    var hasOwner = true
    /// The access list of new records that bring no list; nil for no list.
    var defaultAccess: DefaultAccess?

    func template(on table: RecordTable) -> StatementTemplate {
        template(on: table, if: nil)
    }

    /// - Parameter condition: the condition on the stored record `r`, in a statement that changes and does not create.
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

    /// Selects the records in which the caller may change the fields and the access list that ``template(on:)`` sets.
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

    /// Leaves out owner and creation, which never change.
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
                // The row proposed for insertion has been looked up, and has the type of the column.
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

    /// Returns the condition on an element of an array, with its values.
    static func condition(_ predicate: ResolvedPredicate, on table: RecordTable) -> SQL {
        QueryText(root: table, joined: []).condition(predicate)
    }

    /// The stored value of a column for an operator: an array in the type in which its elements are read.
    private func stored(_ column: RecordColumn) -> SQL {
        let value: SQL = "\"r\".\(column.identifier)"
        if case .array = column.type { return column.type.column.selection(value, oid: column.oid) }
        return value
    }

    /// The table to which the elements of an array refer, if they are looked up, and the caller's read access to it in its
    /// private database.
    private func elementTarget(of number: Int, in table: RecordTable) -> (target: SQL, own: AccessShape)? {
        guard let references, let own = references.own, let target = target(at: number, of: references, in: table)
        else {
            return nil
        }
        return ("\(table.schema).\(target.table)", own)
    }

    /// Returns the table to which the column at a position among the written ones refers.
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

    /// Returns the access condition and then the condition that all operators can be applied, in an order that reveals nothing
    /// about the values of a record that the caller may not write.
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

    private var writeCondition: StatementTemplate { update.condition(on: "r") }

    /// Returns the condition that fields and the access list keep their values where the caller may not change them.
    ///
    /// A value that the rules let no one change must stay the same in records of the owner, too. Access lists are compared as
    /// they are stored; an equivalent list in another order is recognised after the refusal (``SaveVerdict``).
    private func ownerCondition(_ table: RecordTable, values: SQLIdentifier) -> StatementTemplate {
        let isOwner: StatementTemplate = "\"r\".\"_owner\" = \(parameter: .actor)"
        // The conditions for records of others, and those for all records.
        var others: [StatementTemplate] = []
        var all: [StatementTemplate] = []
        for column in guardedColumns {
            // For a hidden value it is not revealed whether the sent value equals the stored one.
            let kept: StatementTemplate? =
                switch column.read {
                case .never: nil
                case .always: isSame(column.place, in: table, values: values)
                default: "\(holds(column.read)) AND \(isSame(column.place, in: table, values: values))"
                }
            switch column.update {
            case .always: break
            // The owner is compared once for all of these columns.
            case .owned: others.append(column.read == .owned ? "false" : kept ?? "false")
            case .never: all.append(kept ?? "false")
            default: all.append(kept.map { "(\(holds(column.update)) OR \($0))" } ?? holds(column.update))
            }
        }
        if let guardedAccess {
            var kept: StatementTemplate = "\(values).\"_access\" = \"r\".\"_access\""
            let namesNoOne: SQL = "\(values).\"_access\" - \(Self.namelessKeys) = '{}'"
            switch guardedAccess.read {
            case .always: break
            case .never: kept = "(\(kept) AND \(namesNoOne))"
            default: kept = "(\(kept) AND (\(namesNoOne) OR (\(holds(guardedAccess.read)))))"
            }
            switch guardedAccess.update {
            case .always: break
            case .owned: others.append(kept)
            case .never: all.append(kept)
            default: all.append("((\(holds(guardedAccess.update))) OR \(kept))")
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

    private func holds(_ condition: AccessCondition) -> StatementTemplate {
        let audience: StatementTemplate = "(SELECT \(parameter: .access(.audience))::text::text[])::text[]"
        return condition.text(on: "r", of: .named("\(parameter: .actor)", audience: audience))
    }

    /// Returns the condition that the value sent for the column at a table position equals the stored one.
    private func isSame(_ place: Int, in table: RecordTable, values: SQLIdentifier) -> StatementTemplate {
        let column = table.columns[place]
        guard !isOperated(place) else { return "false" }
        // For a collation, different bytes may be the same text.
        let collation: SQL = column.collation.equatesByBytes ? "" : " COLLATE \"C\""
        var stored: SQL = "\"r\".\(column.identifier)\(collation)"
        var given = given(column, as: values)
        if case .array = column.type {
            // The row proposed for insertion has the type of the column.
            if values == "excluded" { given = column.type.column.selection(given, oid: column.oid) }
            // A slice has subscripts from 1 on, like the sent array.
            stored = "(\(column.type.column.selection(stored, oid: column.oid)))[:]"
        }
        switch column.type {
        // Operators of extension types are not on the search path, and a JSON column may have a type without operators.
        case .location, .geometry, .json:
            let type = column.type.column
            return """
                \(type.selection(given, oid: column.oid)) \
                IS NOT DISTINCT FROM \(type.selection(stored, oid: column.oid))
                """
        case .relation: return "false"
        // A double is compared with the precision of the column.
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

    /// Whether the column at a table position has an operator, which counts as a change for any result.
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
                if let value = text.value(of: stored(column)) { assignments += ", \(column.identifier) = \(value)" }
            } else {
                assignments += ", \(column.identifier) = \(input)"
            }
        }
        let revision: SQL = shape.kind == .updateOfRevision ? " AND \"r\".\"_revision\" = \"i\".\"_revision\"" : ""
        var access: StatementTemplate = "\(writeCondition)\(revision)\(ownerCondition(table, values: "i"))"
        if let condition, let read {
            // Nothing is revealed about a record that the caller may write but not read.
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
    /// Records that all get the same values have an array of ids beside one row of values, for any number of records.
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

    /// The value of each column in terms of a row `i`.
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
                // Members are looked up where they are written.
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

    /// A column of the input rows, in the type that the table's column takes.
    private func given(_ column: RecordColumn, as values: SQLIdentifier) -> SQL {
        let value: SQL = "\(values).\(column.identifier)"
        return values == "i" ? column.type.column.input(value) : value
    }

    /// The stored ids of the records that the elements of an array mean in a private database: the user's private record if it
    /// exists, else the public one, even if it does not exist.
    ///
    /// Public records are not looked up, so nothing is revealed about one that the caller may not read. Ids of records that the
    /// request writes already have the prefix of the database.
    private func elements(_ input: StatementTemplate, to target: SQL, _ own: AccessShape) -> StatementTemplate {
        """
        CASE WHEN \(input) IS NULL THEN NULL ELSE ARRAY(SELECT coalesce(\
        (SELECT "t"."_id" FROM \(target) AS "t" WHERE "t"."_id" = \(parameter: .prefix) || "e"."id" \
        AND \(own.condition(on: "t"))), "e"."id") \
        FROM unnest(\(input)) WITH ORDINALITY AS "e" ("id", "place") ORDER BY "e"."place") END
        """
    }

    /// Returns the stored id of the record that a reference means, if the caller may read it.
    ///
    /// In a private database that is the user's private record, else the public one. A record that the caller may not read
    /// becomes `~`, an id that no row has, so that the foreign key refuses it like a missing one. The exception is a reference
    /// that the saved record already has, since clients send back whole records.
    ///
    /// A record that the same request may write, `~~<id>`, is taken as it is if it does not exist yet: the foreign key refuses it
    /// unless it has been written by then. An existing record is checked like any other.
    ///
    /// - Parameters:
    ///   - shared: the public records that the caller may read.
    ///   - isFromSameDatabase: whether a private record may not refer to a public one. A record with a cascading reference is
    ///     deleted with its target, and a private record is not deleted with a public one.
    ///   - kept: the reference that the record already has, followed by a comma.
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

    /// The id of a reference without its marks.
    private func id(_ input: SQL, _ references: References) -> SQL {
        references.hasPending ? "ltrim(\(input), '~')" : input
    }
}

/// The source of the access list of a new record that brings no list.
enum DefaultAccess: Hashable, Sendable {
    case type
    /// The list of the user who saves it.
    case user
    /// The list of the user, or that of the type if the user has no list.
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
