import SkyrowModel
internal import SkyrowPostgres

/// The step-by-step merge of one account into another; each step may be repeated.
struct MergeRun {
    /// The work exceeds the budget of one call.
    struct OutOfBudget: Error {}

    /// The number of rows that one statement moves.
    private static let batch = 500

    private let store: RecordStore
    private let user: UserID
    private let target: UserID
    private var remaining: Int
    private var lastRenewal = ContinuousClock.now
    /// The number of records moved so far.
    private(set) var moved = 0

    init(_ store: RecordStore, from user: UserID, to target: UserID, maximumRecords: Int) {
        self.store = store
        self.user = user
        self.target = target
        remaining = maximumRecords
    }

    private var schema: SQLIdentifier { store.schema }

    /// Counts the work of a statement; throws ``OutOfBudget`` when the budget of the call is used up.
    private mutating func note(_ count: Int, areRecords: Bool = false) async throws {
        if areRecords { moved += count }
        if lastRenewal.duration(to: .now) > .seconds(30) {
            try await store.merges.renew(user)
            lastRenewal = .now
        }
        remaining -= count
        if remaining <= 0 { throw OutOfBudget() }
    }

    /// Repeats a statement that returns its number of rows, until it takes fewer than its limit.
    private mutating func repeating(_ statement: SQL) async throws {
        while true {
            let count = Int(try await store.client.write(statement).decode(row: 0, column: 0, as: Int64.self))
            try await note(count)
            if count < Self.batch { return }
        }
    }

    private func renamed(_ column: SQL) -> SQL {
        "CASE WHEN \(column) = \(user) THEN \(target) ELSE \(column) END"
    }

    // MARK: Records

    /// Transfers the user's public records to the target account, and moves the private ones.
    mutating func moveRecords() async throws {
        try await moveFiles()
        let tables = try await store.tables()
        for table in tables { try await give(table) }
        let movable = tables.filter { $0.name != .user }
        // All new ids are chosen before any record moves, since arrays of references have no foreign keys that follow.
        for table in movable { try await plan(table) }
        for table in movable { try await move(table, tables) }
    }

    /// Makes the target account the owner of public records. Their modification time stays the same.
    private mutating func give(_ table: RecordTable) async throws {
        let profile: SQL = table.name == .user ? " AND \"r\".\"_id\" <> \(user)" : ""
        while true {
            let count = try await store.client.write(
                """
                UPDATE \(table.qualifiedName) SET "_owner" = \(target), "_created_by" = \(renamed("\"_created_by\"")),
                    "_updated_by" = \(renamed("\"_updated_by\"")), "_revision" = \(schema)."_revision"()
                WHERE "_id" IN (
                    SELECT "r"."_id" FROM \(table.qualifiedName) AS "r"
                    WHERE "r"."_owner" = \(user) AND "r"."_database" <> \(user)\(profile) LIMIT \(Int64(Self.batch))
                )
                """
            ).affectedRows
            try await note(count, areRecords: true)
            if count < Self.batch { return }
        }
    }

    /// Makes the target account the uploader of the user's files. The records that name them inside of JSON become its records.
    private mutating func moveFiles() async throws {
        while true {
            let count = try await store.client.write(
                """
                UPDATE \(schema.internal)._asset SET owner = \(target) WHERE name IN (
                    SELECT asset.name FROM \(schema.internal)._asset AS asset
                    WHERE asset.owner = \(user) LIMIT \(Int64(Self.batch))
                )
                """
            ).affectedRows
            try await note(count)
            if count < Self.batch { return }
        }
    }

    private var prefix: String { "~\(user.rawValue)/" }
    private var newPrefix: String { "~\(target.rawValue)/" }

    /// Not by characters: an id may begin with a combining mark, which forms one character with the slash.
    private static func id(_ stored: String, behind prefix: String) -> String {
        String(decoding: stored.utf8.dropFirst(prefix.utf8.count), as: UTF8.self)
    }

    /// Chooses other ids for the private records whose ids the target account uses already.
    private func plan(_ table: RecordTable) async throws {
        var last = ""
        while true {
            let ids = try await store.client.read(
                """
                SELECT "r"."_id" FROM \(table.qualifiedName) AS "r"
                WHERE "r"."_database" = \(user) AND "r"."_id" > \(last) ORDER BY "r"."_id" LIMIT \(Int64(Self.batch))
                """
            ).decodeColumn(0, as: String.self)
            guard let end = ids.last else { return }
            try await plan(ids.map { Self.id($0, behind: prefix) }, of: table)
            last = end
        }
    }

    private func plan(_ ids: [String], of table: RecordTable) async throws {
        let taken = try await taken(among: ids, of: table)
        guard !taken.isEmpty else { return }
        let chosen = try await MergedID.choose(for: taken) { candidates in
            // A record of the user that has not moved yet will take the id it has.
            let own = try await store.client.read(
                """
                SELECT "r"."_id" FROM \(table.qualifiedName) AS "r"
                WHERE "r"."_id" = ANY (\(candidates.map { prefix + $0 }))
                """
            ).decodeColumn(0, as: String.self).map { Self.id($0, behind: prefix) }
            return try await self.taken(among: candidates, of: table).union(own)
        }
        _ = try await store.client.write(
            """
            INSERT INTO \(schema.internal)._merge_change AS known (user_id, type, old_id, new_id)
            SELECT \(user), \(table.name.rawValue), given.old_id, given.new_id
            FROM unnest(\(chosen.map(\.old)), \(chosen.map(\.new))) AS given (old_id, new_id)
            ON CONFLICT (user_id, type, old_id) DO UPDATE SET new_id = EXCLUDED.new_id
            """
        )
    }

    /// Returns which of these ids the records of the target account use.
    private func taken(among ids: [String], of table: RecordTable) async throws -> Set<String> {
        Set(
            try await store.client.read(
                """
                SELECT "r"."_id" FROM \(table.qualifiedName) AS "r" WHERE "r"."_id" = ANY (\(ids.map { newPrefix + $0 }))
                """
            ).decodeColumn(0, as: String.self).map { Self.id($0, behind: newPrefix) }
        )
    }

    /// Moves all private records of a type.
    private mutating func move(_ table: RecordTable, _ tables: [RecordTable]) async throws {
        while true {
            let count: Int
            do {
                count = try await move(Self.batch, of: table, tables, clearing: [])
            } catch let error as PostgresError where error.sqlState == .uniqueViolation {
                // At least one of them cannot move unchanged.
                count = try await moveOne(table, tables)
            }
            guard count > 0 else { return }
            try await note(count, areRecords: true)
        }
    }

    /// Moves the first record, under another id or without values that are taken.
    private func moveOne(_ table: RecordTable, _ tables: [RecordTable]) async throws -> Int {
        var cleared: Set<FieldName> = []
        for _ in 0..<20 {
            do {
                return try await move(1, of: table, tables, clearing: cleared)
            } catch let error as PostgresError where error.sqlState == .uniqueViolation {
                let known = await store.table(table, namedBy: error)
                let fields = error.constraint.map { known.fields(ofIndex: $0) } ?? []
                if fields.isEmpty {
                    // The target account has created a record with that id meanwhile.
                    guard let id = try await first(of: table) else { return 0 }
                    try await plan([id], of: table)
                } else {
                    cleared.formUnion(fields)
                }
            }
        }
        throw SkyrowError.unexpected
    }

    private func first(of table: RecordTable) async throws -> String? {
        try await store.client.read(
            """
            SELECT "r"."_id" FROM \(table.qualifiedName) AS "r" WHERE "r"."_database" = \(user) ORDER BY "r"."_id" LIMIT 1
            """
        ).decodeColumn(0, as: String.self).first.map { Self.id($0, behind: prefix) }
    }

    /// Moves some private records with all references to them, in one transaction; returns the number of records.
    private func move(
        _ limit: Int,
        of table: RecordTable,
        _ tables: [RecordTable],
        clearing cleared: Set<FieldName>
    ) async throws -> Int {
        try await store.client.withTransaction { transaction in
            // References are updated before the transaction ends.
            _ = try await transaction.query("SET CONSTRAINTS ALL DEFERRED")
            let ids = try await transaction.query(
                """
                SELECT "r"."_id" FROM \(table.qualifiedName) AS "r" WHERE "r"."_database" = \(user)
                ORDER BY "r"."_id" LIMIT \(Int64(limit)) FOR UPDATE
                """
            ).decodeColumn(0, as: String.self)
            guard !ids.isEmpty else { return 0 }
            let old = ids.map { Self.id($0, behind: prefix) }
            let planned = try await transaction.query(
                """
                SELECT change.old_id, change.new_id FROM \(schema.internal)._merge_change AS change
                WHERE change.user_id = \(user) AND change.type = \(table.name.rawValue) AND change.old_id = ANY (\(old))
                """
            )
            var chosen: [String: String] = [:]
            for row in 0..<planned.rowCount {
                chosen[try planned.decode(row: row, column: 0, as: String.self)] =
                    try planned.decode(row: row, column: 1, as: String.self)
            }
            let new = old.map { newPrefix + (chosen[$0] ?? $0) }
            let given: SQL = "unnest(\(ids), \(new)) AS given (old_id, new_id)"
            var changes: [SQL] = [
                "\"_id\" = given.new_id", "\"_database\" = \(target)", "\"_owner\" = \(renamed("\"r\".\"_owner\""))",
                "\"_created_by\" = \(renamed("\"r\".\"_created_by\""))",
                "\"_updated_by\" = \(renamed("\"r\".\"_updated_by\""))", "\"_revision\" = \(schema).\"_revision\"()",
            ]
            for column in table.columns {
                if cleared.contains(column.field) {
                    changes.append("\(column.identifier) = NULL")
                } else if case .array(.reference(let type)) = column.type {
                    changes.append("\(column.identifier) = \(elements(of: column, type))")
                }
            }
            _ = try await transaction.query(
                """
                UPDATE \(table.qualifiedName) AS "r" SET \(changes.joined(separator: ", "))
                FROM \(given) WHERE "r"."_id" = given.old_id
                """
            )
            for source in tables { try await follow(given, to: table.name, in: source, transaction) }
            for column in table.columns {
                guard let members = column.members else { continue }
                _ = try await transaction.query(
                    "UPDATE \(schema).\(members) AS member SET _from = given.new_id FROM \(given) WHERE member._from = given.old_id"
                )
            }
            if !cleared.isEmpty, let first = old.first {
                _ = try await transaction.query(
                    """
                    INSERT INTO \(schema.internal)._merge_change (user_id, type, old_id, new_id, cleared)
                    VALUES (\(user), \(table.name.rawValue), \(first), \(chosen[first] ?? first),
                        \(cleared.map(\.rawValue).sorted()))
                    ON CONFLICT (user_id, type, old_id) DO UPDATE SET cleared = EXCLUDED.cleared
                    """
                )
            }
            return ids.count
        }
    }

    /// Updates the references and the relation members of a table to the new ids of records.
    private func follow(
        _ given: SQL,
        to type: RecordTypeName,
        in source: RecordTable,
        _ transaction: StoreTransaction
    ) async throws {
        for column in source.columns {
            if column.type == .reference(type) {
                _ = try await transaction.query(
                    """
                    UPDATE \(source.qualifiedName) AS "s" SET \(column.identifier) = given.new_id,
                        "_revision" = \(schema)."_revision"()
                    FROM \(given) WHERE "s".\(column.identifier) = given.old_id
                    """
                )
            } else if column.type == .relation(type), let members = column.members {
                _ = try await transaction.query(
                    "UPDATE \(schema).\(members) AS member SET _to = given.new_id FROM \(given) WHERE member._to = given.old_id"
                )
            }
        }
    }

    /// Returns the elements of an array of references, with the new ids of the user's private records.
    private func elements(of column: RecordColumn, _ type: RecordTypeName) -> SQL {
        let length = Int32(prefix.unicodeScalars.count + 1)
        return """
            CASE WHEN "r".\(column.identifier) IS NOT NULL THEN coalesce((
                SELECT array_agg(
                    CASE
                        WHEN starts_with(element.id, \(prefix))
                        THEN \(newPrefix) || coalesce(change.new_id, substr(element.id, \(length))) ELSE element.id
                    END ORDER BY element.place
                )
                FROM unnest("r".\(column.identifier)) WITH ORDINALITY AS element (id, place)
                LEFT JOIN \(schema.internal)._merge_change AS change
                    ON change.user_id = \(user) AND change.type = \(type.rawValue)
                        AND starts_with(element.id, \(prefix)) AND change.old_id = substr(element.id, \(length))
            ), '{}') END
            """
    }

    // MARK: Relations, and references to the profile

    /// Transfers the relations of the user; a block by either account counts.
    mutating func moveRelations() async throws {
        for isBlock in [true, false] {
            try await repeating(
                """
                WITH batch AS (
                    SELECT relation.user_id, relation.name, relation.other_id FROM \(schema.internal)._relation AS relation
                    WHERE (relation.user_id = \(user) OR relation.other_id = \(user))
                        AND (relation.name = 'block') = \(isBlock) LIMIT \(Int64(Self.batch))
                ), gone AS (
                    DELETE FROM \(schema.internal)._relation AS relation USING batch
                    WHERE relation.user_id = batch.user_id AND relation.name = batch.name
                        AND relation.other_id = batch.other_id
                    RETURNING \(renamed("relation.user_id")) AS user_id, relation.name,
                        \(renamed("relation.other_id")) AS other_id, relation.created_at
                ), added AS (
                    INSERT INTO \(schema.internal)._relation (user_id, name, other_id, created_at)
                    SELECT gone.user_id, gone.name, gone.other_id, gone.created_at FROM gone
                    WHERE gone.user_id <> gone.other_id AND (gone.name = 'block' OR NOT EXISTS (
                        SELECT FROM \(schema.internal)._relation AS barrier WHERE barrier.name = 'block' AND (
                            barrier.user_id = gone.user_id AND barrier.other_id = gone.other_id
                            OR barrier.user_id = gone.other_id AND barrier.other_id = gone.user_id
                        )
                    ))
                    ON CONFLICT DO NOTHING
                )
                SELECT count(*) FROM gone
                """
            )
        }
        for table in try await store.tables() {
            for column in table.columns where column.type == .relation(.user) {
                guard let members = column.members else { continue }
                try await repeating(
                    """
                    WITH batch AS (
                        SELECT member._from FROM \(schema).\(members) AS member WHERE member._to = \(user)
                        LIMIT \(Int64(Self.batch))
                    ), gone AS (
                        DELETE FROM \(schema).\(members) AS member USING batch
                        WHERE member._from = batch._from AND member._to = \(user) RETURNING member._from
                    ), added AS (
                        INSERT INTO \(schema).\(members) (_from, _to) SELECT gone._from, \(target) FROM gone
                        ON CONFLICT DO NOTHING
                    )
                    SELECT count(*) FROM gone
                    """
                )
            }
        }
    }

    /// Changes the references to the user's profile to that of the target account.
    mutating func moveReferences() async throws {
        for table in try await store.tables() {
            for column in table.columns where column.type == .reference(.user) {
                do {
                    try await repeating(
                        """
                        WITH changed AS (
                            UPDATE \(table.qualifiedName) SET \(column.identifier) = \(target),
                                "_revision" = \(schema)."_revision"()
                            WHERE "_id" IN (
                                SELECT "r"."_id" FROM \(table.qualifiedName) AS "r"
                                WHERE "r".\(column.identifier) = \(user) LIMIT \(Int64(Self.batch))
                            )
                            RETURNING "_id"
                        )
                        SELECT count(*) FROM changed
                        """
                    )
                } catch let error as PostgresError where error.sqlState == .uniqueViolation {
                    // A unique index may allow one reference to the target only; the others become null with the user's
                    // profile.
                    continue
                }
            }
        }
    }
}

/// Replacements for ids that are taken: `note~1`, `note~2`.
enum MergedID {
    /// Returns the id with a number, truncated if it would be too long; `number` begins with 1.
    static func text(_ id: String, _ number: Int) -> String {
        let suffix = "~\(number)"
        var text = id
        while text.utf8.count + suffix.utf8.count > 255 { text.removeLast() }
        return text + suffix
    }

    /// Chooses for each id the first numbered one that no record has and no other id gets.
    ///
    /// - Parameter taken: returns which of some ids exist.
    static func choose(
        for ids: Set<String>,
        taken: ([String]) async throws -> Set<String>
    ) async throws -> [(old: String, new: String)] {
        var chosen: [(old: String, new: String)] = []
        var given: Set<String> = []
        var waiting = ids.sorted()
        var number = 1
        while !waiting.isEmpty {
            let candidates = waiting.map { text($0, number) }
            let unfit = try await taken(candidates)
            var left: [String] = []
            for (id, candidate) in zip(waiting, candidates) {
                if unfit.contains(candidate) || !given.insert(candidate).inserted {
                    left.append(id)
                } else {
                    chosen.append((id, candidate))
                }
            }
            waiting = left
            number += 1
        }
        return chosen
    }
}
