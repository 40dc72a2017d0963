package import SkyrowModel
internal import SkyrowPostgres
package import SkyrowProtocol

extension RecordStore {
    /// Transfers public records to another owner, each independently: one statement for each type.
    ///
    /// The result has an outcome for each id, in the order of the ids: `110 ResourceNotFound` for a missing or unreadable
    /// record, `102 PermissionDenied` for profiles and for records that the caller may not transfer. Throws `110` if there is
    /// no user with that id whose profile the caller may read, `102` if the caller may not write at all, and database errors.
    package func transfer(
        _ transfer: RecordTransfer,
        with access: RecordAccess,
        recording event: AuditEvent? = nil
    ) async throws(SkyrowError) -> [RecordOutcome] {
        try access.requireWriting()
        if access.hasScopes {
            for id in transfer.ids { try access.requireWriting(id.type) }
            try access.requireReading(.user)
        }
        return try await reporting {
            for type in Set(transfer.ids.map(\.type)) { _ = try await table(of: type) }
            return try await withCatalog { catalog in
                let context = WriteContext(store: self, runner: .client(self.client), catalog: catalog, access: access)
                var run = TransferRun(context, to: transfer.owner, recording: event)
                try await run.requireOwner()
                return try await run.outcomes(transfer.ids)
            }
        }
    }
}

/// Executes one transfer request: one statement for each type, then a query for the reasons of what was not transferred.
private struct TransferRun {
    let context: WriteContext
    let owner: UserID
    let event: AuditEvent?

    private var rows: [RecordID: StoredRow] = [:]
    private var failures: [RecordID: SkyrowError] = [:]

    init(_ context: WriteContext, to owner: UserID, recording event: AuditEvent?) {
        self.context = context
        self.owner = owner
        self.event = event
    }

    /// Throws `110 ResourceNotFound` if there is no account with that id whose profile the caller may read.
    func requireOwner() async throws {
        guard let table = context.catalog[.user] else { throw SkyrowError.unexpected }
        let condition = context.access.of(table.rules).read.condition(on: "r")
        let found = try await context.runner.read(
            """
            SELECT FROM \(table.qualifiedName) AS "r"
            JOIN \(context.store.schema.internal)."_user" AS account ON account.id = "r"."_id"
            WHERE "r"."_id" = \(owner) AND \(condition)
            """
        )
        guard !found.isEmpty else { throw SkyrowError.userNotFound.at("to") }
    }

    mutating func outcomes(_ ids: [RecordID]) async throws -> [RecordOutcome] {
        var seen: Set<RecordID> = []
        let types = Dictionary(grouping: ids.filter { seen.insert($0).inserted }, by: \.type)
        for (type, ids) in types.sorted(by: { $0.key < $1.key }) {
            guard let table = context.catalog[type] else { continue }
            let refusal = table.rules.refusalOfTransfer(with: context.access)
            if refusal == nil { try await transfer(ids, in: table) }
            try await judge(ids.filter { rows[$0] == nil }, in: table, refusal)
        }
        return ids.map { id in
            rows[id].map { .record($0) } ?? .failure(failures[id] ?? .recordNotFound, id: id.description)
        }
    }

    private mutating func transfer(_ ids: [RecordID], in table: RecordTable) async throws {
        let access = context.access
        let isOwner: SQL = access.passesEveryRule ? "" : " AND \"r\".\"_owner\" = \(access.actor as UserID?)"
        let result = try await context.runner.write(
            """
            WITH "r" AS (
                UPDATE \(table.qualifiedName) AS "r" SET "_owner" = \(owner), "_updated_at" = now(),
                    "_updated_by" = \(access.actor as UserID?), "_revision" = \(table.schema)."_revision"()
                WHERE "r"."_id" = ANY(\(ids.map(\.id))) AND \(access.of(table.rules).update.condition(on: "r"))\(isOwner)
                RETURNING "r".*
            )\(context.store.recording(
                event,
                from: "(SELECT jsonb_agg(\"r\".\"_id\") AS ids FROM \"r\") AS given WHERE given.ids IS NOT NULL",
                user: "\(owner)",
                data: "jsonb_build_object('type', \(table.name.rawValue)::text, 'ids', given.ids)"
            ))
            SELECT \(table.wholeRow.columns) FROM "r"
            """,
            limit: ids.count > 4 ? PostgresRowLimit.writing(table.wholeRow) : nil,
            contention: table.contention
        )
        let stored = StoredRows(result, plan: table.plan(for: access.fields), for: access.fields).byWireID()
        for id in ids { rows[id] = stored[TextKey(id.id)] }
    }

    /// Records why records were not transferred; unreadable records are reported as missing.
    private mutating func judge(_ ids: [RecordID], in table: RecordTable, _ refusal: SkyrowError?) async throws {
        guard !ids.isEmpty else { return }
        let findings = try await context.findings(on: ids, in: table, for: .update)
        for id in ids {
            guard let finding = findings[TextKey(id.id)], finding.isReadable else { continue }
            failures[id] = refusal ?? .transferDenied
        }
    }
}
