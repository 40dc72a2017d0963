internal import SkyrowPostgres

// Checks whose rows come from more than one query.

extension DoctorCheck {
    /// Every check of the database, in report order.
    package static let ofTheDatabase: [DoctorCheck] = [
        server, migrations, durability, connections, memory, timeZone, clock, collations, extensions,
        autovacuum, wraparound, transactions, locks, tracking,
        drift, foreignKeyIndexes, invalidIndexes, failedIndexes, wordIndexes, storedWords, duplicateIndexes,
        unusedIndexes, sequentialScans, textOrder, textFolding, triggerPaths, parents, relations, files, sweeping,
        mail, sealing,
        accounts, passwords, keys, roles, notices, rules, policies, functions, records, changes,
    ]

    /// Rows: the name of a migration `step` with its `summary`; or a `newer` version; or `refused` with the remedy.
    package static let migrations = DoctorCheck(
        "migrations",
        "The reserved tables",
        .observation { $0.migrations },
        finding: { row, _ in
            switch row["step"] {
            case "install":
                DoctorFinding(
                    .error,
                    "This schema has no Skyrow tables.",
                    meaning: "No service has run on it yet, or --schema names a different schema from the service's.",
                    remedy: "Start the service, or create the tables.",
                    commands: ["$ skyrow migrate"]
                )
            case "newer":
                DoctorFinding(
                    .error,
                    row["summary"],
                    meaning: "This version of skyrow does not start on it.",
                    remedy: "Run the version of skyrow that migrated it, or a newer one."
                )
            case "refused":
                DoctorFinding(
                    .error,
                    row["summary"],
                    meaning: "This version of skyrow does not start on it.",
                    remedy: "Do so, or set --schema to another name."
                )
            default:
                DoctorFinding(
                    .warning,
                    "The database is not up to date; still to do: \(row["summary"]).",
                    meaning: "The service migrates when it starts, or lacks the permission to.",
                    remedy: "Migrate, as the owner of the schema or a superuser.",
                    commands: ["$ skyrow migrate"]
                )
            }
        }
    )

    /// Rows: `place`, `sentence`, and `commands`, one a line.
    package static let drift = DoctorCheck(
        "schema-drift",
        "Schema drift",
        needsTables: true,
        .observation { try await $0.drift() },
        finding: { row, _ in
            DoctorFinding(
                .warning,
                "\(row["place"]) \(row["sentence"]).",
                meaning: "Tables that Skyrow creates do not have this.",
                remedy: row["commands"].isEmpty
                    ? "Check whether that is intended."
                    : "Repair it; 'skyrow schema apply' with the output of 'skyrow schema show' repairs all drift.",
                commands: row["commands"].split(separator: "\n").map(String.init)
            )
        }
    )

    /// Rows: `before`, `database` and `after` in microseconds: this machine's time, the server's, and this machine's again.
    package static let clock = DoctorCheck(
        "clock",
        "Clocks of the service and the database",
        .observation { try await [$0.clocks()] },
        finding: { row, limits in
            // The server read its clock at some time between the two.
            let early = Double(row.integer("before") - row.integer("database")) / 1e6
            let late = Double(row.integer("database") - row.integer("after")) / 1e6
            let skew = max(early, late)
            guard skew > limits.clockSkew else { return nil }
            let tenths = Double(Int(skew * 10)) / 10
            return DoctorFinding(
                skew > limits.badClockSkew ? .error : .warning,
                "The database's clock is \(tenths) s \(early > late ? "behind" : "ahead of") this machine's.",
                meaning: "Tokens and suspensions end early or late, and timestamps of records jump.",
                remedy: "Synchronise the clocks of both machines, with chrony or systemd-timesyncd.",
                commands: ["$ timedatectl status"]
            )
        }
    )
}

extension DoctorProbe {
    fileprivate func drift() async throws -> [DoctorRow] {
        let inventory = try await client.withTransaction(isolation: .repeatableRead) { transaction in
            try await SchemaInventory.load(of: schema, in: transaction)
        }
        return inventory.drift.filter(\.fault.concernsDoctor).map { drift in
            [
                "place": drift.place, "sentence": drift.sentence,
                "commands": drift.remedy(in: schema).joined(separator: "\n"),
            ]
        }
    }

    fileprivate func clocks() async throws -> DoctorRow {
        let before = now()
        let result = try await client.read("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")
        let after = now()
        let database = try result.decode(row: 0, column: 0, as: Int64.self)
        return ["before": "\(before)", "database": "\(database)", "after": "\(after)"]
    }
}

extension SchemaDrift.Fault {
    /// Whether the fault can lose data or falsify results, rather than being a matter of style.
    var concernsDoctor: Bool {
        switch self {
        case .reservedDefault, .reservedNull, .noPart, .unvalidatedForeignKey, .required, .unreadableName, .halfMade,
            .noIdentity:
            true
        // The index checks report invalid indexes; the other faults work as they are.
        case .noComment, .noReferenceIndex, .immediateForeignKey, .narrowColumn, .unsupportedType, .generated,
            .invalidIndex, .textOrder:
            false
        }
    }
}
