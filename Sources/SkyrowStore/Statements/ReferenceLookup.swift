internal import SkyrowModel
internal import SkyrowPostgres

/// Finds the references of some records that lead nowhere, after PostgreSQL refused one of them.
///
/// ```sql
/// SELECT "t"."_id" FROM "app"."category" AS "t" WHERE "t"."_id" = ANY($1) AND <read access>
/// ```
///
/// Runs one statement for each referenced type and, if a target was not found, one for each referring type: a record may keep a
/// reference that it already has, even to a record that its caller may not read.
struct ReferenceLookup {
    let context: WriteContext

    /// A reference of a write to no record of the database that is visible to the caller.
    struct Reference: Hashable {
        /// The write's position in the plan.
        let position: Int
        let column: RecordColumn
        let target: RecordID
    }

    /// Returns the references of a unit that lead nowhere, without regard to records that the request itself writes.
    func dangling(in unit: [BatchPlan.Group], of plan: BatchPlan, on runner: StatementRunner) async throws
        -> [Reference]
    {
        var open = unit.flatMap { references(of: $0, plan) }
        for (type, references) in Dictionary(grouping: open, by: \.target.type) {
            guard let table = context.catalog[type] else { continue }
            let ids = Set(references.map { TextKey($0.target.id) }).map(\.text)
            let found = try wireIDs(in: try await runner.read(question(ids, in: table)))
            open.removeAll { $0.target.type == type && found.contains(TextKey($0.target.id)) }
        }
        for group in unit {
            let members = Set(group.members)
            // Only reference columns: members of relations are not stored in the record.
            let missed = open.filter { members.contains($0.position) && $0.column.members == nil }
            guard !missed.isEmpty else { continue }
            let kept = try await keptReferences(missed, of: group, plan, on: runner)
            open.removeAll { kept.contains($0) }
        }
        return open
    }

    private func references(of group: BatchPlan.Group, _ plan: BatchPlan) -> [Reference] {
        group.members.flatMap { position -> [Reference] in
            let write = plan.writes[position]
            let references = zip(write.columns, write.values).compactMap { column, value -> Reference? in
                guard case .reference(let target) = value else { return nil }
                return Reference(position: position, column: group.table.columns[column], target: target)
            }
            let members = write.operators.flatMap { one in
                one.addedMembers.map {
                    Reference(position: position, column: group.table.columns[one.column], target: $0)
                }
            }
            return references + members
        }
    }

    private func question(_ ids: [String], in table: RecordTable) -> SQL {
        let access = context.access
        let open = access.of(table.rules)
        let own: AccessShape?
        switch access.database {
        case .user: own = open.read.shape
        case .everyone, .union: own = nil
        }
        let text = StatementText.lookUp(shared: open.shared.shape, own: own)
        return table.shapes.template(text, on: table).binding { parameter, values in
            switch parameter {
            case .ids: values.append(ids.map { StoredID($0, in: access.database).text })
            case .wireIDs: values.append(ids)
            default: access.append(parameter, to: &values)
            }
        }
    }

    static func template(shared: AccessShape, own: AccessShape?, on table: RecordTable) -> StatementTemplate {
        var condition: StatementTemplate = """
            "t"."_id" = ANY(\(parameter: .wireIDs)) \
            AND \(shared.condition(on: "t"))
            """
        if let own {
            let own = own.condition(on: "t")
            condition = "(\(condition)) OR (\"t\".\"_id\" = ANY(\(parameter: .ids)) AND \(own))"
        }
        return "SELECT \"t\".\"_id\" FROM \(table.qualifiedName) AS \"t\" WHERE \(condition)"
    }

    private func wireIDs(in result: PostgresResult) throws(PostgresError) -> Set<TextKey> {
        Set(try result.decodeColumn(0, as: String.self).map { TextKey(StoredID.wireID(of: $0)) })
    }

    /// Returns those references of a group that its records already have.
    private func keptReferences(
        _ references: [Reference],
        of group: BatchPlan.Group,
        _ plan: BatchPlan,
        on runner: StatementRunner
    ) async throws -> Set<Reference> {
        let columns = Array(Set(references.map(\.column)))
        let ids = Set(references.map(\.position)).map {
            StoredID(plan.writes[$0].id.id, in: context.access.database).text
        }
        let names = columns.map { "\"o\".\($0.identifier)" as SQL }.joined(separator: ", ")
        let result = try await runner.read(
            "SELECT \"o\".\"_id\", \(names) FROM \(group.table.qualifiedName) AS \"o\" WHERE \"o\".\"_id\" = ANY(\(ids))"
        )
        var stored: [TextKey: [RecordColumn: TextKey]] = [:]
        for row in 0..<result.rowCount {
            let id = StoredID.wireID(of: try result.decode(row: row, column: 0, as: String.self))
            for (place, column) in columns.enumerated() {
                guard let value = try result.decode(row: row, column: place + 1, as: String?.self) else { continue }
                stored[TextKey(id), default: [:]][column] = TextKey(StoredID.wireID(of: value))
            }
        }
        return Set(
            references.filter { reference in
                let id = TextKey(plan.writes[reference.position].id.id)
                return stored[id]?[reference.column] == TextKey(reference.target.id)
            }
        )
    }
}

extension BatchPlan {
    /// Returns the records that cannot be saved because they refer to nothing, directly or through other records of the request.
    ///
    /// - Parameters:
    ///   - dangling: references that lead to no record of the database.
    ///   - isWritten: whether a write is done or still pending.
    func unsavable(_ dangling: [ReferenceLookup.Reference], isWritten: (Int) -> Bool) -> [Int: FieldName] {
        var writesByID: [RecordID: [Int]] = [:]
        for (position, write) in writes.enumerated() { writesByID[write.id, default: []].append(position) }
        var unsavable: [Int: FieldName] = [:]
        let byTarget = Dictionary(grouping: dangling, by: \.target)
        var open = Array(byTarget.keys)
        while let target = open.popLast() {
            let isThere = writesByID[target]?.contains { unsavable[$0] == nil && isWritten($0) } ?? false
            guard !isThere else { continue }
            for reference in byTarget[target] ?? [] where unsavable[reference.position] == nil {
                unsavable[reference.position] = reference.column.field
                open.append(writes[reference.position].id)
            }
        }
        return unsavable
    }
}
