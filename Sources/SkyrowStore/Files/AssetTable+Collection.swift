package import SkyrowModel
internal import SkyrowPostgres

/// What a look for unreferenced files found.
package struct AssetLook: Hashable, Sendable {
    /// Files that were found to be unreferenced for the first time.
    package var marked = 0
    /// Files that a record refers to again.
    package var unmarked = 0
    /// Files that were unreferenced for the whole grace, whose rows were moved to `_garbage`; in a dry run those that would be.
    package var collected = 0
}

extension AssetTable {
    /// The number of files that one statement judges.
    private static let page = 5_000
    /// The number of records or names that one statement reads.
    private static let part = 5_000

    /// Claims the next look for this process; returns false if one began less than `interval` ago. Throws
    /// ``SkyrowError/filesAreHeld`` beside a backup, during which a look would be in vain.
    ///
    /// - Parameter interval: in whole seconds.
    package func claimLook(notWithin interval: Duration) async throws(SkyrowError) -> Bool {
        try await store.reporting {
            try await deleting { transaction in
                try await transaction.execute(
                    """
                    UPDATE \(schema.internal)._meta AS meta SET files_looked_at = now()
                    WHERE meta.files_looked_at <= now() - make_interval(secs => \(Double(interval.components.seconds)))
                    """
                ) == 1
            }
        }
    }

    /// Has the next look be due at once.
    package func yieldLook() async throws(SkyrowError) {
        try await store.write("UPDATE \(schema.internal)._meta AS meta SET files_looked_at = '-infinity'")
    }

    /// Looks for files that no record refers to: marks them, and moves those to `_garbage` that were marked at least `grace` ago.
    ///
    /// A reference is a field, or an object `{"$type": "asset", "$name": "…"}` inside of JSON. All references are read in one
    /// snapshot, so that a name that moves from one record to another is not missed. The snapshot is read-only and holds no lock
    /// that a save waits for; rows are changed outside of it, some hundreds in a transaction. Two looks at the same time do the
    /// same work twice and no harm.
    ///
    /// A reference inside of JSON that is saved while the look runs does not keep a file that was unreferenced for the whole
    /// grace, just as a reference that is saved after the look.
    ///
    /// Throws ``SkyrowError/filesAreHeld`` if a backup holds files that are due.
    ///
    /// - Parameters:
    ///   - grace: in whole seconds.
    ///   - isDryRun: whether to change nothing and only count.
    package func look(grace: Duration, isDryRun: Bool = false) async throws(SkyrowError) -> AssetLook {
        let seconds = Double(grace.components.seconds)
        return try await store.reporting {
            try await store.client.withTransaction(isolation: .snapshot) { snapshot in
                var look = AssetLook()
                let references = try await AssetReferences(to: schema, in: snapshot)
                let nested = try await namesInJSON(references, in: snapshot)
                var last = ""
                while let page = try await page(after: last, references, grace: seconds, in: snapshot) {
                    last = page.last
                    let verdict = page.verdict { nested.contains($0) }
                    look.marked += isDryRun ? verdict.marked.count : try await mark(verdict.marked)
                    look.unmarked += isDryRun ? verdict.unmarked.count : try await unmark(verdict.unmarked)
                    look.collected += isDryRun ? verdict.due.count : try await collect(verdict.due, grace: seconds)
                }
                return look
            }
        }
    }

    /// Returns the names of files inside of JSON; reads each table with JSON columns once.
    private func namesInJSON(
        _ references: AssetReferences,
        in snapshot: PostgresTransaction
    ) async throws -> AssetNameFilter {
        let count = try await snapshot.query(
            "SELECT count(*) FROM \(schema.internal)._asset AS asset WHERE asset.state = 'stored'"
        ).decode(row: 0, column: 0, as: Int64.self)
        var names = AssetNameFilter(expecting: Int(count))
        guard count > 0 else { return names }
        for documents in references.documents {
            try await snapshot.execute("DECLARE look NO SCROLL CURSOR FOR \(documents.names(in: schema))")
            while true {
                let part = try await snapshot.query("FETCH \(Self.sqlPart) FROM look")
                for row in 0..<part.rowCount {
                    if let name = try part.decode(row: row, column: 0, as: String?.self) { names.insert(name) }
                }
                if part.rowCount < Self.part { break }
            }
            try await snapshot.execute("CLOSE look")
        }
        return names
    }

    /// A number in the text, since FETCH takes no parameter.
    private static var sqlPart: SQL {
        var sql = SQL()
        sql.append(literal: Int64(part))
        return sql
    }

    /// Returns the next files in the order of their names, sorted by what foreign keys say of them; nil at the end.
    private func page(
        after name: String,
        _ references: AssetReferences,
        grace: Double,
        in snapshot: PostgresTransaction
    ) async throws -> AssetPage? {
        let columns = Columns(
            { (last: String?, fresh: [String], waiting: [String], due: [String], held: [String]) in
                last.map { AssetPage(last: $0, fresh: fresh, waiting: waiting, due: due, held: held) }
            },
            "max(judged.name)",
            "coalesce(array_agg(judged.name) FILTER (WHERE NOT judged.is_held AND NOT judged.is_marked), '{}')",
            """
            coalesce(array_agg(judged.name) FILTER (WHERE NOT judged.is_held AND judged.is_marked AND NOT judged.is_due), '{}')
            """,
            "coalesce(array_agg(judged.name) FILTER (WHERE NOT judged.is_held AND judged.is_due), '{}')",
            "coalesce(array_agg(judged.name) FILTER (WHERE judged.is_held AND judged.is_marked), '{}')"
        )
        // MATERIALIZED, since PostgreSQL would otherwise look a name up for each of the arrays.
        return try await snapshot.query(
            """
            WITH page AS MATERIALIZED (
                SELECT asset.name, asset.unreferenced_since IS NOT NULL AS is_marked,
                    coalesce(\(Self.isDue(after: grace)), false) AS is_due
                FROM \(schema.internal)._asset AS asset
                WHERE asset.state = 'stored' AND asset.name > \(name) ORDER BY asset.name LIMIT \(Int64(Self.page))
            ), judged AS MATERIALIZED (
                SELECT page.name, page.is_marked, page.is_due, \(references.refer(to: "page.name")) AS is_held FROM page
            )
            SELECT \(columns.list) FROM judged
            """
        ).rows(columns).first ?? nil
    }

    /// Whether `asset` was marked at least `grace` seconds ago.
    private static func isDue(after grace: Double) -> SQL {
        "asset.unreferenced_since <= now() - make_interval(secs => \(grace))"
    }

    private func mark(_ names: [String]) async throws -> Int {
        guard !names.isEmpty else { return 0 }
        return try await store.client.write(
            """
            UPDATE \(schema.internal)._asset AS asset SET unreferenced_since = now()
            WHERE asset.name = ANY (\(names)) AND asset.state = 'stored' AND asset.unreferenced_since IS NULL
            """
        ).affectedRows
    }

    /// Has files be unreferenced no more, so that their grace begins again; returns how many were.
    func unmark(_ names: [String]) async throws -> Int {
        guard !names.isEmpty else { return 0 }
        return try await store.client.write(
            """
            UPDATE \(schema.internal)._asset AS asset SET unreferenced_since = NULL
            WHERE asset.name = ANY (\(names)) AND asset.unreferenced_since IS NOT NULL
            """
        ).affectedRows
    }

    private func collect(_ names: [String], grace: Double) async throws -> Int {
        var count = 0
        for start in stride(from: 0, to: names.count, by: Self.batch) {
            let part = Array(names[start..<min(start + Self.batch, names.count)])
            count += try await discard(part, if: "asset.state = 'stored' AND \(Self.isDue(after: grace))")
        }
        return count
    }
}

/// Some stored files, of which foreign keys say something that a look acts on.
struct AssetPage: Hashable, Sendable {
    /// The last name of the page.
    let last: String
    /// Unreferenced files without a mark.
    let fresh: [String]
    /// Unreferenced files with a mark that is younger than the grace.
    let waiting: [String]
    /// Unreferenced files with an older mark.
    let due: [String]
    /// Referenced files with a mark.
    let held: [String]

    struct Verdict: Hashable, Sendable {
        let marked: [String]
        let unmarked: [String]
        let due: [String]
    }

    /// Decides what happens to the files.
    ///
    /// - Parameter isInJSON: whether a name is inside of JSON.
    func verdict(_ isInJSON: (String) -> Bool) -> Verdict {
        Verdict(
            marked: fresh.filter { !isInJSON($0) },
            unmarked: held + (waiting + due).filter(isInJSON),
            due: due.filter { !isInJSON($0) }
        )
    }
}
