internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowQuery

/// Computes in memory what a save would do: one query a type for the stored records, and no statement that writes.
///
/// A column that the database fills, such as a sequence or a generated column, has its stored value, or none in a new record.
struct PreviewRun {
    private let context: WriteContext
    private let plan: BatchPlan
    /// The records that earlier drafts of the request save, as they leave them.
    private let earlier: [RecordID: Record]
    /// The ids that replace temporary ids, so that no record has them yet.
    private let fresh: Set<RecordID>
    private let now: Timestamp
    /// The steps for verdicts on operators, as many as an unhooked save has, and for their results.
    private var verdicts = StepBudget.operators
    private var results = StepBudget.operators
    /// The access list of new records of the caller; nil before it is read.
    private var listOfUser: AccessList??

    init(
        _ context: WriteContext,
        _ plan: BatchPlan,
        after earlier: [RecordID: Record],
        fresh: Set<RecordID>,
        at now: Timestamp
    ) {
        self.context = context
        self.plan = plan
        self.earlier = earlier
        self.fresh = fresh
        self.now = now
    }

    /// Returns what the save of each item does; nil for an item of another type, and for one that could not be read.
    mutating func saves(of types: Set<RecordTypeName>) async throws -> [Result<PreviewedSave, SkyrowError>?] {
        var saves = [Result<PreviewedSave, SkyrowError>?](repeating: nil, count: plan.ids.count)
        for (place, failure) in plan.failures {
            guard let type = plan.ids[place]?.type, types.contains(type) else { continue }
            saves[place] = .failure(failure.error)
        }
        let writes = plan.writes.filter { types.contains($0.id.type) }
        for (_, writes) in Dictionary(grouping: writes, by: \.id.type).sorted(by: { $0.key < $1.key }) {
            let ids = writes.map(\.id).filter { earlier[$0] == nil && !fresh.contains($0) }
            var findings: [TextKey: JudgeStatement.Finding] = [:]
            if !ids.isEmpty { findings = try await context.findings(on: ids, in: writes[0].table, for: .update) }
            for write in writes {
                do {
                    saves[write.index] = .success(try await save(write, findings[TextKey(write.id.id)]))
                } catch let error as SkyrowError {
                    saves[write.index] = .failure(error)
                }
            }
        }
        return saves
    }

    /// Throws the error with which the save would be refused.
    private mutating func save(
        _ write: RecordWrite,
        _ finding: JudgeStatement.Finding?
    ) async throws -> PreviewedSave {
        if let record = earlier[write.id] {
            switch write.precondition {
            case .isNew, .revision: throw SkyrowError.conflict
            case .exists, nil: return try await result(of: write, on: record)
            }
        }
        let verdict = SaveVerdict(SaveIntent(write), finding, by: context.access.fields, within: &verdicts)
        if case .refused(let error) = verdict { throw error }
        guard let finding else { return try await result(of: write, on: nil) }
        if let condition = write.condition {
            let id = StoredID(write.id.id, in: context.access.database).text
            let matching = try await context.runner.read(
                """
                SELECT FROM \(write.table.qualifiedName) AS "r" WHERE "r"."_id" = \(id) AND (\(condition))
                """
            )
            if matching.isEmpty { throw SkyrowError.conflict(with: finding.row) }
        }
        guard let stored = finding.row.wholeRecord else { throw SkyrowError.responseTooLarge }
        return try await result(of: write, on: stored)
    }

    private mutating func result(of write: RecordWrite, on stored: Record?) async throws -> PreviewedSave {
        let access = context.access
        var record = stored ?? Record(id: write.id)
        var changed: [FieldName] = []
        for (place, value) in zip(write.columns, write.values) {
            let column = write.table.columns[place]
            if case .relation = column.type { continue }
            let before = record.fields[column.field] ?? .null
            var after = column.kept(value)
            if stored != nil, let change = write.operators.first(where: { $0.column == place })?.change {
                after = try change.apply(
                    to: before,
                    isNew: false,
                    field: column.field,
                    of: column.type,
                    within: &results
                )
            }
            guard !after.isSameStored(as: before) else { continue }
            record.fields[column.field] = after == .null ? nil : after
            changed.append(column.field)
        }
        if let list = write.access {
            record.access = list
        } else if stored == nil {
            record.access = try await defaultAccess(of: write.table)
        }
        if stored == nil {
            record.owner = write.table.rules.hasOwner(in: access.database) ? access.newOwner : nil
            record.createdAt = now
            record.createdBy = access.actor
        }
        record.updatedAt = now
        record.updatedBy = access.actor
        return PreviewedSave(original: stored, record: record, changed: changed.sorted())
    }

    /// The access list of a new record that brings none.
    private mutating func defaultAccess(of table: RecordTable) async throws -> AccessList? {
        guard case .everyone = context.access.database else { return nil }
        guard let user = context.access.actor, context.store.rulesWatch.hasDefaultLists else {
            return table.rules.defaultAccess
        }
        if listOfUser == nil {
            let rows = try await context.runner.read(
                "SELECT default_access::text FROM \(context.store.schema.internal)._user WHERE id = \(user)"
            )
            let text = try rows.decodeColumn(0, as: String?.self).first ?? nil
            listOfUser = .some(text.map { $0.withBytes { AccessList(storedJSON: UnsafeRawBufferPointer($0)) } })
        }
        return (listOfUser ?? nil) ?? table.rules.defaultAccess
    }
}
