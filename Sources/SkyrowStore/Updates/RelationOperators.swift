internal import SkyrowModel
internal import SkyrowPostgres

extension RecordColumn {
    /// Converts the operators on a relation to the members to add and to remove; for a record in several, the last one counts.
    ///
    /// Throws `108 InvalidArgument` for other operators, and for records of a type other than the relation's.
    func settledMembers(
        _ change: FieldOperator,
        of target: RecordTypeName,
        at place: Int,
        _ resolve: (RecordID) throws(SkyrowError) -> RecordID
    ) throws(SkyrowError) -> SettledOperator {
        var isMember: [RecordID: Bool] = [:]
        var order: [RecordID] = []
        func settle(_ step: FieldOperator) throws(SkyrowError) {
            let (ids, adds): ([RecordID], Bool)
            switch step.kind {
            case .relate(let members): (ids, adds) = (members, true)
            case .unrelate(let members): (ids, adds) = (members, false)
            default: throw unfit(step)
            }
            for (number, id) in ids.enumerated() {
                guard id.type == target else {
                    throw SkyrowError.invalidArgument("The members of \(field) must be records of the type \(target).")
                        .at(number).at(".$val")
                }
                let id = id.isTemporary ? try resolve(id) : id
                if isMember.updateValue(adds, forKey: id) == nil { order.append(id) }
            }
        }
        for (number, step) in change.steps.enumerated() {
            do throws(SkyrowError) { try settle(step) } catch {
                if case .all = change.kind { throw error.at(number).at(".$val").inOperator(on: field.rawValue) }
                throw error.inOperator(on: field.rawValue)
            }
        }
        let added = order.filter { isMember[$0] == true }
        let removed = order.filter { isMember[$0] == false }
        return SettledOperator(
            column: place,
            field: field,
            type: type,
            change: change,
            form: .members(adds: !added.isEmpty, removes: !removed.isEmpty),
            operands: [.added(added), .removed(removed)]
        )
    }
}

extension SettledOperator {
    /// The records that it adds to a relation.
    var addedMembers: [RecordID] {
        if case .added(let members)? = operands.first { members } else { [] }
    }
}

extension RecordWrite {
    /// Whether a reference of the record, or an added member of a relation, satisfies the predicate.
    func refers(where isSo: (RecordID) -> Bool) -> Bool {
        let hasReference = values.contains { value in
            if case .reference(let id) = value { isSo(id) } else { false }
        }
        return hasReference || operators.contains { $0.addedMembers.contains(where: isSo) }
    }
}

extension SaveText {
    /// Returns the statement that also writes the rows of relations:
    ///
    /// ```sql
    /// WITH "saved" AS (<save>), "related1" AS (
    ///     INSERT INTO "app"."post.likes" ("_from", "_to")
    ///     SELECT "s"."_id", <stored id> FROM "saved" AS "s", unnest($5) AS "e" ("id") ON CONFLICT DO NOTHING
    /// )
    /// SELECT "saved".* FROM "saved" WHERE "app"."_unrelate"('"app"."post.likes"', "saved"."_id", $6)
    /// ```
    ///
    /// A separate statement inside the function removes members, since this statement would not see those that another
    /// transaction added while it waited for the row.
    func relating(_ save: StatementTemplate, on table: RecordTable) -> StatementTemplate {
        let relations = shape.operators.filter { if case .members = $0.form { true } else { false } }
        guard !relations.isEmpty else { return save }
        var sql: StatementTemplate = "WITH \"saved\" AS (\(save))"
        var conditions: [StatementTemplate] = []
        for (number, one) in relations.enumerated() {
            guard let members = table.columns[shape.columns[one.place]].members,
                case .members(let adds, let removes) = one.form
            else { continue }
            let name: SQL = "\(table.schema).\(members)"
            let object: SQL = "\(literal: "\(table.schema.quoted).\(members.quoted)")::regclass"
            if adds {
                sql += """
                    , \(SQLIdentifier(relationAt: number + 1)) AS (INSERT INTO \(name) ("_from", "_to") \
                    SELECT "s"."_id", \(member(at: one.place, in: table)) FROM "saved" AS "s", \
                    unnest(\(parameter: .operand(column: one.place, number: 0))) AS "e" ("id") ON CONFLICT DO NOTHING)
                    """
            }
            if removes {
                conditions.append(
                    """
                    \(table.schema)."_unrelate"(\(object), "saved"."_id", \
                    \(parameter: .operand(column: one.place, number: 1)))
                    """
                )
            }
        }
        sql += " SELECT \"saved\".* FROM \"saved\""
        if !conditions.isEmpty { sql += " WHERE \(conditions.joined(separator: " AND "))" }
        return sql
    }

    /// Returns the stored id of a member, limited to records that the caller may read.
    private func member(at place: Int, in table: RecordTable) -> StatementTemplate {
        guard let references, let target = target(at: place, of: references, in: table) else { return "\"e\".\"id\"" }
        return reference("\"e\".\"id\"", to: "\(table.schema).\(target.table)", target.shared, references)
    }
}
