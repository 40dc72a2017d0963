package import SkyrowModel
package import SkyrowPostgres
package import SkyrowStore

/// One check of `skyrow doctor`: where its rows come from, mostly a query, and what it says about each.
///
/// ```swift
/// let check = DoctorCheck.timeZone
/// check.judge([["name": "TimeZone", "setting": "Europe/Berlin", "database": "app"]], DoctorLimits())   // one warning
/// ```
package struct DoctorCheck: Sendable {
    /// The name, such as `foreign-key-indexes`.
    package let name: String
    /// The subject in a few words.
    package let title: String
    /// Whether the check needs the reserved tables.
    package let needsTables: Bool
    /// The source of the rows.
    package let source: Source
    /// Returns the findings for the rows; empty if all is well.
    package let judge: @Sendable ([DoctorRow], DoctorLimits) -> [DoctorFinding]

    /// The source of a check's rows.
    package enum Source: Sendable {
        /// Statements that only read.
        case queries(@Sendable (DoctorScope) throws -> [SQL])
        /// An observation that takes more than statements.
        case observation(@Sendable (DoctorProbe) async throws -> [DoctorRow])
        /// An observation of the machine rather than the database.
        case machine(MachineSubject)

        /// A single statement.
        static func query(_ query: @escaping @Sendable (DoctorScope) throws -> SQL) -> Source {
            .queries { [try query($0)] }
        }
    }

    package init(
        _ name: String,
        _ title: String,
        needsTables: Bool = false,
        _ source: Source,
        judge: @escaping @Sendable ([DoctorRow], DoctorLimits) -> [DoctorFinding]
    ) {
        self.name = name
        self.title = title
        self.needsTables = needsTables
        self.source = source
        self.judge = judge
    }

    /// A check that judges each row alone.
    ///
    /// - Parameter finding: returns the finding for a row; nil if all is well.
    init(
        _ name: String,
        _ title: String,
        needsTables: Bool = false,
        _ source: Source,
        finding: @escaping @Sendable (DoctorRow, DoctorLimits) -> DoctorFinding?
    ) {
        self.init(name, title, needsTables: needsTables, source) { rows, limits in
            rows.compactMap { finding($0, limits) }
        }
    }

    /// The machine subject that the check observes; nil for a database check.
    package var machineSubject: MachineSubject? {
        if case .machine(let subject) = source { subject } else { nil }
    }
}

/// A property of the machine that a check observes.
package enum MachineSubject: Hashable, Sendable {
    case keyFiles
    case disk
    case fileDisk
    case openFiles
    case thumbnails
    case accountSettings
    case mailServer
    case providers
}

/// The tools of an observation of a database.
package struct DoctorProbe: Sendable {
    let client: PostgresClient
    let schema: SQLIdentifier
    /// This machine's time in microseconds since 1970.
    let now: @Sendable () -> Int64
    /// The rows for ``DoctorCheck/migrations``, loaded before any check runs.
    let migrations: [DoctorRow]
    /// nil if the application has no files.
    let files: DoctorFiles?
}

/// A problem that a check found.
package struct DoctorFinding: Hashable, Sendable {
    package enum Severity: String, Hashable, Sendable, Comparable, CaseIterable {
        /// Something is missing that is optional.
        case hint
        /// It works but should be changed.
        case warning
        /// Data or results are at risk, or something does not work.
        case error

        package static func < (a: Severity, b: Severity) -> Bool {
            a != b && allCases.first { $0 == a || $0 == b } == a
        }
    }

    package var severity: Severity
    /// The fact: a sentence with names and numbers.
    package var what: String
    /// The consequence.
    package var meaning: String
    package var remedy: String
    /// Commands to paste: SQL for psql, or a shell command if it begins with `$ `.
    package var commands: [String]

    package init(_ severity: Severity, _ what: String, meaning: String, remedy: String, commands: [String] = []) {
        self.severity = severity
        self.what = what
        self.meaning = meaning
        self.remedy = remedy
        self.commands = commands
    }
}

/// A row that a check judges: values as PostgreSQL prints them, by column name. NULLs are absent.
package struct DoctorRow: Hashable, Sendable, ExpressibleByDictionaryLiteral {
    package var values: [String: String]

    package init(_ values: [String: String]) {
        self.values = values
    }

    package init(dictionaryLiteral elements: (String, String)...) {
        values = Dictionary(elements) { _, last in last }
    }

    /// Returns a text, or an empty string for NULL.
    package subscript(_ name: String) -> String { values[name] ?? "" }

    /// Returns an integer, or 0 if the value is not one.
    package func integer(_ name: String) -> Int { values[name].flatMap { Int($0) } ?? 0 }

    /// Returns a number, or 0 if the value is not one.
    package func number(_ name: String) -> Double { values[name].flatMap { Double($0) } ?? 0 }

    /// Returns a boolean, or false for NULL.
    package func flag(_ name: String) -> Bool { values[name] == "true" }
}

/// A range of a table's blocks; without an end, it runs to the last block.
struct TablePart: Hashable, Sendable {
    var first: Int
    var end: Int?

    /// Splits a table into parts of `length` blocks. Blocks added meanwhile belong to the last part.
    static func all(ofBlocks count: Int, length: Int) -> [TablePart] {
        let starts = Array(stride(from: 0, to: max(count, 1), by: length))
        return zip(starts, starts.dropFirst().map(Optional.init) + [nil]).map { TablePart(first: $0, end: $1) }
    }

    /// Returns the condition for the rows of the part, which PostgreSQL finds without reading other blocks.
    func condition(on row: SQL) -> SQL {
        let begin: SQL = "\(row).ctid >= \(literal: "(\(first),0)")::tid"
        guard let end else { return begin }
        return "\(begin) AND \(row).ctid < \(literal: "(\(end),0)")::tid"
    }
}

/// The database objects that the checks inspect.
package struct DoctorScope: Sendable {
    /// The PostgreSQL schema of the application.
    package var schema: SQLIdentifier
    package var tables: [RecordTable]
    /// The number of blocks of each table.
    package var blocks: [RecordTypeName: Int] = [:]
    /// The server's `server_version_num`, such as 150020.
    package var serverVersion: Int
    package var limits: DoctorLimits

    /// The OIDs of both schemas of the application, for `IN`.
    var namespaces: SQL { "(SELECT oid FROM pg_catalog.pg_namespace WHERE nspname IN \(schema.bothNames))" }
}

/// The thresholds of the checks.
package struct DoctorLimits: Sendable {
    /// Upper bound on the connections of one service process.
    package var connectionsOfAService = 33
    /// The key names of the setting `secrets-key`, of which the first one seals; nil if the setting is unreadable.
    package var sealingKeys: [String]? = []
    /// The actions of the service, which scopes of keys may name.
    package var actions: Set<ActionName> = []
    /// Bytes of memory of the server's machine; nil if PostgreSQL runs on another machine.
    package var machineMemory: Int?
    /// The cost of a new password hash, N·r·p of scrypt.
    package var passwordWork = Double(1 << 15) * 8 * 3
    /// Seconds that a transaction may be idle, and may be open.
    package var idleTransaction = 300
    package var longTransaction = 3600
    /// Seconds that a writing transaction may be open while a change stream waits for it.
    package var openWriter = 60
    /// Seconds for which change tokens are valid.
    package var feedRetention = 30 * 86_400
    /// Seconds that a statement may wait for a lock.
    package var lockWait = 10
    /// Dead rows that a table may have, and the ratio of dead to live rows.
    package var deadRows = 10_000
    package var deadRatio = 0.5
    /// Transactions since a table was frozen. PostgreSQL stops at 2 147 million.
    package var oldTransactions = 500_000_000
    package var ancientTransactions = 1_200_000_000
    /// Rows of a large table, and the number of sequential scans that counts as many.
    package var bigTable = 10_000
    package var manyScans = 50
    /// Bytes of an unused index worth dropping, and days without use.
    package var bigIndex = 8 << 20
    package var unusedDays = 7.0
    /// Blocks of a record table that one statement reads: 32 MB.
    package var blocksAtOnce = 4096
    /// Seconds between two clocks.
    package var clockSkew = 1.0
    package var badClockSkew = 30.0
    /// Seconds of clock skew allowed for a provider, as for its tokens.
    package var providerSkew = 60.0
    /// Free space in bytes, and in percent.
    package var scarceDisk = 2 << 30
    package var emptyDisk = 256 << 20
    package var scarceDiskPercent = 10.0

    package init() {}
}
