internal import SkyrowModel
package import SkyrowPostgres

/// The statements that create the policies, triggers and views of a record type's table.
///
/// Conditions on the rows refer to the table by its name, since a policy has no alias.
struct PolicyText {
    private let table: RecordTable
    private let schema: SQLIdentifier
    private let rules: TypeRules

    init(_ table: RecordTable) {
        self.table = table
        schema = table.schema
        rules = table.rules
    }

    // MARK: Policies

    var select: PolicyObject { policy("_select", "SELECT", "USING (\(isOpen(.read)))") }

    /// The owner of a new record is the current user, in the public database or the user's own; values of fields and references
    /// are checked as in a save.
    ///
    /// - Parameter columns: the columns that an INSERT may name.
    func insert(_ columns: [String]) -> PolicyObject {
        let create = rules.classes?.rule(.create) ?? .standard(.create)
        let mayCreate = create.namesEveryUser ? "true" : isOneOf(create.allow, on: row, .query)
        var places: [SQL] = ["\(row).\"_database\" = '_public' AND \(mayCreate)"]
        if !rules.isPublicOnly { places.append("\(row).\"_database\" = \(me(.query))") }
        var conditions: [SQL] = [
            mayAsk, "(\(places.joined(separator: " OR ")))", "\(row).\"_owner\" = \(me(.query))",
        ]
        for column in table.columns where columns.contains(column.identifier.name) {
            let value: SQL = "\(row).\(column.identifier)"
            let terms = rules.fields.terms(.create, of: column.field)
            if !terms.isEmpty { conditions.append("(\(value) IS NULL OR \(holds(terms, on: row, .query)))") }
            if let reference = reference(column, on: row) { conditions.append(reference) }
        }
        return policy("_insert", "INSERT", "WITH CHECK (\(conditions.joined(separator: " AND ")))")
    }

    /// Row conditions apply to the old row; triggers on columns check the new one (``guards(of:)``).
    var update: PolicyObject { policy("_update", "UPDATE", "USING (\(isOpen(.update))) WITH CHECK (\(mayAsk))") }

    var delete: PolicyObject { policy("_delete", "DELETE", "USING (\(isOpen(.delete)))") }

    private func policy(_ name: SQLIdentifier, _ command: SQL, _ condition: SQL) -> PolicyObject {
        PolicyObject(
            kind: .policy,
            name: name.name,
            statement: "CREATE POLICY \(name) ON \(table.qualifiedName) FOR \(command) TO PUBLIC \(condition)"
        )
    }

    // MARK: Triggers

    /// Triggers fire in the order of their names: after the guards of columns, and before `_stamp` sets the revision.
    var signatureOfNew: PolicyObject {
        trigger("_sign_new", "INSERT", when: "\"new\".\"_created_by\" IS NULL", "\"_sign\"()")
    }

    var signatureOfChange: PolicyObject { trigger("_sign_change", "UPDATE", when: isOfOthers, "\"_sign\"()") }

    /// The triggers on columns that only some users may change, and on references.
    ///
    /// Each fires for statements that name the column. Setting a value to itself is not a change, unless the caller does not
    /// see the value, because that would confirm a guess.
    ///
    /// - Parameter columns: the columns that an UPDATE may name.
    func guards(of columns: [String]) -> [PolicyObject] {
        var guards: [PolicyObject] = []
        // A list that the caller does not see must not be compared with a guess; in a private database it has no effect.
        let isSameList: SQL = "\"new\".\"_access\" IS NOT DISTINCT FROM \"old\".\"_access\""
        let reads = rules.listReadTerms
        let keeps: SQL = reads.isEmpty ? isSameList : "\(isSameList) AND \(holds(reads, on: "old", .plain))"
        let changes = holds(rules.listChangeTerms, on: "old", .plain)
        guards.append(
            guardian(of: "_access", unless: "\"old\".\"_database\" <> '_public' OR (\(keeps)) OR (\(changes))")
        )
        for column in table.columns where columns.contains(column.identifier.name) {
            let terms = rules.fields.terms(.update, of: column.field)
            let reference = reference(column, on: "new")
            if terms.isEmpty, reference == nil { continue }
            let seen = rules.fields.terms(.read, of: column.field)
            let isSame = isSame(column)
            let keeps: SQL = seen.isEmpty ? isSame : "\(isSame) AND \(holds(seen, on: "old", .plain))"
            let may = [terms.isEmpty ? nil : holds(terms, on: "old", .plain), reference].compactMap(\.self)
            guards.append(guardian(of: column.identifier, unless: "\(keeps) OR (\(may.joined(separator: " AND ")))"))
        }
        return guards
    }

    private func guardian(of column: SQLIdentifier, unless condition: SQL) -> PolicyObject {
        // A name has at most 63 bytes.
        let place = table.columns.firstIndex { $0.identifier == column } ?? 0
        let name =
            column.name.utf8.count <= 50 ? "_guard_\(column.name)" : "_guard_\(column.name.prefix(40))_\(place)"
        return trigger(
            (try? SQLIdentifier(name)) ?? "_guard_",
            "UPDATE OF \(column)",
            when: "\(isOfOthers) AND \(me(.plain)) IS NOT NULL AND NOT coalesce(\(condition), false)",
            "\"_refuse_column\"(\(literal: column.name))"
        )
    }

    /// The service sets the revision of a row, other roles leave it to a trigger. The service has checked its own writes.
    private var isOfOthers: SQL { "\"new\".\"_revision\" IS NOT DISTINCT FROM \"old\".\"_revision\"" }

    private func trigger(_ name: SQLIdentifier, _ event: SQL, when condition: SQL, _ call: SQL) -> PolicyObject {
        PolicyObject(
            kind: .trigger,
            name: name.name,
            statement: """
                CREATE TRIGGER \(name) BEFORE \(event) ON \(table.qualifiedName) FOR EACH ROW WHEN (\(condition)) \
                EXECUTE FUNCTION \(schema).\(call)
                """
        )
    }

    /// Whether an update leaves a value unchanged; types with other equality operators are compared as text.
    private func isSame(_ column: RecordColumn) -> SQL {
        let cast: SQL =
            switch column.type {
            case .location, .geometry, .unknown: "::text"
            default: ""
            }
        return "\"new\".\(column.identifier)\(cast) IS NOT DISTINCT FROM \"old\".\(column.identifier)\(cast)"
    }

    // MARK: The view

    /// The accessible records, with NULL for fields that the caller does not see, and with the entries of access lists that
    /// everyone sees; nil for types where every user sees everything.
    ///
    /// It runs with the rights of the table's owner, so it has its own condition on rows.
    var view: PolicyObject? {
        let fields = table.columns.filter { if case .relation = $0.type { false } else { true } }
        let reads = rules.listReadTerms
        guard !reads.isEmpty || fields.contains(where: { !rules.fields.terms(.read, of: $0.field).isEmpty }),
            let home = try? SQLIdentifier(visible: schema)
        else { return nil }
        var columns: [SQL] = ReservedColumn.allCases.map { column in
            guard column == .access, !reads.isEmpty else { return "\(row).\(column.identifier)" }
            let shown = Subject.nameless.map { subject -> SQL in
                "\(literal: subject.key), \(row).\"_access\" -> \(literal: subject.key)"
            }
            return """
                CASE WHEN \(row)."_access" IS NULL OR \(row)."_database" <> '_public' OR \(holds(reads, on: row, .query)) \
                THEN \(row)."_access" \
                ELSE jsonb_strip_nulls(jsonb_build_object(\(shown.joined(separator: ", ")))) END AS "_access"
                """
        }
        for column in fields {
            let terms = rules.fields.terms(.read, of: column.field)
            if terms.isEmpty {
                columns.append("\(row).\(column.identifier)")
            } else if !terms.contains(where: \.isEmpty) {
                columns.append(
                    "CASE WHEN \(holds(terms, on: row, .query)) THEN \(row).\(column.identifier) END AS \(column.identifier)"
                )
            }
        }
        return PolicyObject(
            kind: .view,
            name: table.name.rawValue,
            statement: """
                CREATE VIEW \(home).\(table.identifier) WITH (security_barrier) AS \
                SELECT \(columns.joined(separator: ", ")) FROM \(table.qualifiedName) AS \(row) WHERE \(isOpen(.read))
                """
        )
    }

    // MARK: Conditions

    private var row: SQLIdentifier { table.identifier }

    private var mayAsk: SQL { "(SELECT \(schema).\"_may_ask\"(\(literal: table.name.rawValue)))" }

    /// The condition for the accessible records of both databases.
    private func isOpen(_ action: AccessAction) -> SQL {
        let relations = RelationEntries(Set(Subject.Relation.allCases), in: schema.name)
        let branches = UnsettledScope(action, of: rules.classes, relations: relations).branches
        func text(_ condition: AccessCondition, in database: AccessShape.Database = .everyone) -> SQL {
            AccessShape(condition, in: database).condition(on: row, of: .session(schema)).unbound
        }
        var shared = text(branches[branches.count - 1].condition)
        if branches.count > 1 {
            let cases = branches.dropLast().map { branch -> SQL in
                let isFor = branch.isFor.map { isOneOf($0, on: row, .query) }.joined(separator: " AND ")
                return "WHEN \(isFor) THEN \(text(branch.condition))"
            }
            shared = "CASE \(cases.joined(separator: " ")) ELSE \(shared) END"
        }
        return "\(mayAsk) AND ((\(shared)) OR \(text(.always, in: .user)))"
    }

    /// The context of a condition.
    private enum Place {
        /// A policy or a view, where a sub-select is executed once per statement.
        case query
        /// The condition of a trigger, which allows no sub-select.
        case plain
    }

    private func me(_ place: Place) -> SQL {
        let call: SQL = "\(schema).\"_me\"()"
        return switch place {
        case .query: "(SELECT \(call))"
        case .plain: call
        }
    }

    /// Whether the caller is one of the subjects of each term.
    private func holds(_ terms: [[Subject]], on row: SQLIdentifier, _ place: Place) -> SQL {
        terms.map { isOneOf($0, on: row, place) }.joined(separator: " AND ")
    }

    /// Whether the caller meets each term of a condition for lists.
    private func holds(_ terms: [ListTerm], on row: SQLIdentifier, _ place: Place) -> SQL {
        terms.map { term in
            let isOne = isOneOf(term.subjects, on: row, place)
            guard let action = term.listed else { return isOne }
            let audience: SQL = "\(schema).\"_audience\"()"
            let call: SQL
            switch place {
            case .query: call = "(SELECT \(audience))"
            case .plain: call = audience
            }
            return "(\(isOne) OR \(action.isListed(on: row, for: "\(call)").unbound))"
        }.joined(separator: " AND ")
    }

    /// Whether the caller is one of these subjects, according to its audience and to the owner and the fields of the row.
    private func isOneOf(_ subjects: [Subject], on row: SQLIdentifier, _ place: Place) -> SQL {
        var ways: [SQL] = []
        if subjects.contains(.owner) { ways.append("\(row).\"_owner\" = \(me(place))") }
        for case .field(let name) in subjects.sorted() {
            guard let field = rules.fields.members[name] ?? rules.listMembers[name] else { continue }
            ways.append(field.names("\(me(place))", on: row).unbound)
        }
        let keys = subjects.filter { !$0.dependsOnRecord }.sorted().map { "\(literal: $0.key)" as SQL }
        if !keys.isEmpty {
            let call: SQL = "\(schema).\"_audience\"() && ARRAY[\(keys.joined(separator: ", "))]::text[]"
            switch place {
            case .query: ways.append("(SELECT \(call))")
            case .plain: ways.append("\(call)")
            }
        }
        return ways.isEmpty ? "false" : "(\(ways.joined(separator: " OR ")))"
    }

    /// Whether the targets of a column may be referred to, or its file used; nil for a column without references and files.
    private func reference(_ column: RecordColumn, on row: SQLIdentifier) -> SQL? {
        let value: SQL = "\(row).\(column.identifier)"
        let (target, ids): (RecordTypeName, SQL)
        switch column.type {
        case .reference(let type): (target, ids) = (type, "ARRAY[\(value)]")
        case .array(.reference(let type)): (target, ids) = (type, value)
        case .asset: return "(\(value) IS NULL OR \(schema).\"_may_use_file\"(\(value)))"
        default: return nil
        }
        return """
            (\(value) IS NULL OR \(schema)."_may_refer"(\(literal: target.rawValue), \(ids), \(row)."_database"))
            """
    }
}

extension SQLIdentifier {
    /// `app_visible`: the schema of the views on the record types of the application in `app`.
    ///
    /// Throws ``PostgresError`` with the code `invalidValue` if the name would be too long.
    package init(visible schema: SQLIdentifier) throws(PostgresError) {
        try self.init("\(schema.name)_visible")
    }
}
