package import SkyrowModel
package import SkyrowPostgres

/// Divides a plan into transactions, so that each holds its locks for less than about 100 ms.
package enum SchemaPieces {
    /// Upper bound on the cost of a transaction. A cost of 1 is a new column: a millisecond on a slow core.
    package static let maximumCost = 60
    /// The cost of rewriting a table of ``LargeTables/bound``.
    package static let rewritingCost = 50

    /// Cuts a plan into pieces up to the maximum cost, in its order. A change that costs more is a piece by itself.
    package static func cut<Change>(_ plan: [Change], cost: (Change) -> Int) -> [[Change]] {
        var pieces: [[Change]] = []
        var room = 0
        for change in plan {
            let cost = cost(change)
            if let last = pieces.indices.last, cost <= room {
                pieces[last].append(change)
            } else {
                pieces.append([change])
                room = maximumCost
            }
            room -= cost
        }
        return pieces
    }
}

/// A table that a change locks, other than those that it creates.
package struct TableLock: Hashable, Sendable {
    package enum Use: String, Sendable {
        /// The table itself.
        case changed
        /// The target of a new foreign key: it can be read meanwhile, but not written.
        case referred
        /// The table of files, as the target of a new foreign key of the type.
        case files
        /// The table, and the tables of relations that have its name in theirs.
        case renamed
        /// The table, and the tables that its foreign keys tie it to; only those of the field, if one is given.
        case dropped
        /// The table of a relation's members, and the tables that it refers to.
        case members
    }

    package var use: Use
    package var type: RecordTypeName
    package var field: FieldName?

    package init(_ use: Use, _ type: RecordTypeName, _ field: FieldName? = nil) {
        self.use = use
        self.type = type
        self.field = field
    }
}

extension PostgresTransaction {
    /// Locks the tables of several changes, in the total time that others may wait for one; in the same order in every process.
    ///
    /// Following statements wait no longer than that for any other lock.
    package func lock(_ locks: some Sequence<TableLock>, in schema: SQLIdentifier) async throws {
        try await limitLockWaits()
        let rows = Set(locks).map { lock -> SQL in
            let field: SQL = lock.field.map { "\(literal: $0.rawValue)" } ?? "NULL"
            return "(\(literal: lock.use.rawValue), \(literal: lock.type.rawValue), \(field))"
        }
        guard !rows.isEmpty else { return }
        let limit = SQL(trustedText: "\(tableLockMilliseconds)")
        try await execute(
            """
            DO $locks$
            DECLARE
                home oid := (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = \(literal: schema.name));
                internal oid := (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = \(literal: schema.internal.name));
                began timestamptz := clock_timestamp();
                rest integer;
                held record;
            BEGIN
                FOR held IN
                    WITH named AS (
                        SELECT pg_class.oid, use, CASE use WHEN 'members' THEN NULL ELSE field END AS field
                        FROM (VALUES \(rows.joined(separator: ", "))) AS lock (use, type, field)
                        JOIN pg_catalog.pg_class ON relkind IN ('r', 'p')
                            AND relnamespace = CASE use WHEN 'files' THEN internal ELSE home END
                            AND relname = (
                                CASE use WHEN 'members' THEN \(schema)._members_name(type, field)
                                    WHEN 'files' THEN \(literal: AssetColumn.table) ELSE type END
                            )::name
                    ), tied AS (
                        SELECT CASE conrelid WHEN named.oid THEN confrelid ELSE conrelid END AS oid
                        FROM named JOIN pg_catalog.pg_constraint
                            ON contype = 'f' AND (conrelid = named.oid OR confrelid = named.oid)
                        WHERE use IN ('dropped', 'members') AND (
                            field IS NULL OR conrelid = named.oid AND conkey = ARRAY(
                                SELECT attnum FROM pg_catalog.pg_attribute
                                WHERE attrelid = named.oid AND attname = field::name
                            )
                        )
                        UNION
                        SELECT conrelid FROM named JOIN pg_catalog.pg_constraint ON contype = 'f' AND confrelid = named.oid
                        JOIN pg_catalog.pg_class ON pg_class.oid = conrelid
                        WHERE use = 'renamed' AND position('.' IN relname) > 0
                    )
                    SELECT oid::regclass AS name, bool_or(is_alone) AS is_alone
                    FROM (
                        SELECT oid, use NOT IN ('referred', 'files') FROM named
                        UNION ALL SELECT oid, true FROM tied
                        -- The members of relations of a type that goes, which lead to others.
                        UNION ALL
                        SELECT confrelid, true FROM tied JOIN pg_catalog.pg_class USING (oid)
                        JOIN pg_catalog.pg_constraint ON contype = 'f' AND conrelid = pg_class.oid
                        WHERE position('.' IN relname) > 0
                    ) AS locked (oid, is_alone)
                    GROUP BY oid ORDER BY oid
                LOOP
                    rest := \(limit) - extract(epoch FROM clock_timestamp() - began) * 1000;
                    IF rest < 1 THEN
                        RAISE lock_not_available USING MESSAGE = 'Others keep some of the tables locked';
                    END IF;
                    PERFORM set_config('lock_timeout', rest::text, true);
                    EXECUTE format(
                        'LOCK TABLE %s IN %s MODE', held.name,
                        CASE WHEN held.is_alone THEN 'ACCESS EXCLUSIVE' ELSE 'SHARE ROW EXCLUSIVE' END
                    );
                END LOOP;
                PERFORM set_config('lock_timeout', '\(limit)ms', true);
            END $locks$
            """
        )
    }
}
