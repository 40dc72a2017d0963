package import SkyrowModel
package import SkyrowPostgres
package import SkyrowStore

/// One thing that `skyrow doctor` looks at: what is asked, and what is made of the result.
///
/// ```swift
/// let check = DoctorCheck.timeZone
/// check.judge([["name": "TimeZone", "setting": "Europe/Berlin", "database": "app"]], DoctorLimits())   // one warning
/// ```
package struct DoctorCheck: Sendable {
    /// What it is called, `foreign-key-indexes`.
    package let name: String
    /// What it looks at, a few words.
    package let title: String
    /// Whether the reserved tables must be there for it.
    package let needsTables: Bool
    /// Where its rows come from.
    package let source: Source
    /// What is wrong with the rows; nothing when all is well.
    package let judge: @Sendable ([DoctorRow], DoctorLimits) -> [DoctorFinding]

    /// Where the rows come from that a check judges.
    package enum Source: Sendable {
        /// Statements, none of which changes anything.
        case queries(@Sendable (DoctorScope) throws -> [SQL])
        /// What takes more than statements.
        case observation(@Sendable (DoctorProbe) async throws -> [DoctorRow])
        /// The machine rather than the database.
        case machine(MachineSubject)
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

    init(
        _ name: String,
        _ title: String,
        needsTables: Bool = false,
        queries: @escaping @Sendable (DoctorScope) throws -> [SQL],
        judge: @escaping @Sendable ([DoctorRow], DoctorLimits) -> [DoctorFinding]
    ) {
        self.init(name, title, needsTables: needsTables, .queries(queries), judge: judge)
    }

    /// What of the machine it looks at; nil for a check of the database.
    package var machineSubject: MachineSubject? {
        if case .machine(let subject) = source { subject } else { nil }
    }
}

/// What of a machine a check looks at.
package enum MachineSubject: Hashable, Sendable {
    case keyFiles
    case disk
    case openFiles
    case accountSettings
    case mailServer
    case providers
}

/// What an observation of a database has to look with.
package struct DoctorProbe: Sendable {
    let client: PostgresClient
    let schema: SQLIdentifier
    /// This machine's time in microseconds since 1970.
    let now: @Sendable () -> Int64
    /// What ``DoctorCheck/migrations`` judges, which is known before any check is made.
    let migrations: [DoctorRow]
}

/// What a check found to be wrong.
package struct DoctorFinding: Hashable, Sendable {
    package enum Severity: String, Hashable, Sendable, Comparable, CaseIterable {
        /// It works and should be otherwise.
        case warning
        /// Data or answers are at risk, or it does not work.
        case error

        package static func < (a: Severity, b: Severity) -> Bool {
            a == .warning && b == .error
        }
    }

    package var severity: Severity
    /// What is so, a sentence with names and numbers.
    package var what: String
    /// What comes of it.
    package var meaning: String
    /// What to do.
    package var remedy: String
    /// What to paste: SQL for psql, or a shell's command where it begins with `$ `.
    package var commands: [String]

    package init(
        _ severity: Severity,
        _ what: String,
        meaning: String,
        remedy: String,
        commands: [String] = []
    ) {
        self.severity = severity
        self.what = what
        self.meaning = meaning
        self.remedy = remedy
        self.commands = commands
    }
}

/// A row that a check judges: texts as PostgreSQL prints them, by the columns' names; what is NULL is not there.
package struct DoctorRow: Hashable, Sendable, ExpressibleByDictionaryLiteral {
    package var values: [String: String]

    package init(_ values: [String: String]) {
        self.values = values
    }

    package init(dictionaryLiteral elements: (String, String)...) {
        values = Dictionary(elements) { _, last in last }
    }

    /// A text, empty when it is NULL.
    package subscript(_ name: String) -> String { values[name] ?? "" }

    /// A whole number, 0 when it is none.
    package func integer(_ name: String) -> Int { values[name].flatMap { Int($0) } ?? 0 }

    /// A number, 0 when it is none.
    package func number(_ name: String) -> Double { values[name].flatMap { Double($0) } ?? 0 }

    /// A boolean, false when it is NULL.
    package func flag(_ name: String) -> Bool { values[name] == "true" }
}

/// A part of a table: its blocks from one to another, or all from one on.
struct TablePart: Hashable, Sendable {
    var first: Int
    var end: Int?

    /// A table in parts of so many blocks; what it grows by meanwhile belongs to the last one.
    static func all(ofBlocks count: Int, length: Int) -> [TablePart] {
        let starts = Array(stride(from: 0, to: max(count, 1), by: length))
        return zip(starts, starts.dropFirst().map(Optional.init) + [nil]).map { TablePart(first: $0, end: $1) }
    }

    /// The condition of its rows, which PostgreSQL finds without reading the others.
    func condition(on row: SQL) -> SQL {
        let begin: SQL = "\(row).ctid >= \(literal: "(\(first),0)")::tid"
        guard let end else { return begin }
        return "\(begin) AND \(row).ctid < \(literal: "(\(end),0)")::tid"
    }
}

/// Where the checks look.
package struct DoctorScope: Sendable {
    /// The schema of the application.
    package var schema: SQLIdentifier
    /// The record tables.
    package var tables: [RecordTable]
    /// How many blocks each of the tables has.
    package var blocks: [RecordTypeName: Int] = [:]
    /// As `server_version_num` has it, 150020.
    package var serverVersion: Int
    package var limits: DoctorLimits

    /// The number of the schema of the records.
    var namespace: SQL {
        "(SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = \(PostgresName(schema.name)))"
    }

    /// The numbers of both schemas of the application, after `IN`.
    var namespaces: SQL { "(SELECT oid FROM pg_catalog.pg_namespace WHERE nspname IN \(names))" }

    /// The names of both, after `IN`.
    var names: SQL { "(\(PostgresName(schema.name)), \(PostgresName(schema.internal.name)))" }
}

/// From where on something is too much.
package struct DoctorLimits: Sendable {
    /// Connections that one process of the service opens at most.
    package var connectionsOfAService = 33
    /// The names of the keys of the setting `secrets-key`, the first of which seals; nil where the setting cannot be read.
    package var sealingKeys: [String]? = []
    /// Bytes of memory of the machine the server runs on; nil when that is another one.
    package var machineMemory: Int?
    /// Of a new hash of a password, N·r·p of scrypt.
    package var passwordWork = Double(1 << 15) * 8 * 3
    /// Seconds that a transaction may wait for its client, or last.
    package var idleTransaction = 300
    package var longTransaction = 3600
    /// Seconds for which a transaction that has written may be open before a stream of changes has waited for too long.
    package var openWriter = 60
    /// Seconds for which change tokens are good.
    package var feedRetention = 30 * 86_400
    /// Seconds that a statement may wait for a lock.
    package var lockWait = 10
    /// Dead rows that a table may have, and dead for each living one.
    package var deadRows = 10_000
    package var deadRatio = 0.5
    /// Transactions since a table was frozen; PostgreSQL stops at 2 147 million.
    package var oldTransactions = 500_000_000
    package var ancientTransactions = 1_200_000_000
    /// Rows of a table that is big; reads of the whole of it that are many.
    package var bigTable = 10_000
    package var manyScans = 50
    /// Bytes of an index that is worth dropping when it is not used, and days without use.
    package var bigIndex = 8 << 20
    package var unusedDays = 7.0
    /// Blocks of a record table that one statement reads, 32 MB.
    package var blocksAtOnce = 4096
    /// Seconds between two clocks.
    package var clockSkew = 1.0
    package var badClockSkew = 30.0
    /// Seconds by which the clock of a provider may be off, as its tokens may.
    package var providerSkew = 60.0
    /// Bytes, and parts of a hundred, of free space.
    package var scarceDisk = 2 << 30
    package var emptyDisk = 256 << 20
    package var scarceDiskPercent = 10.0

    package init() {}
}
