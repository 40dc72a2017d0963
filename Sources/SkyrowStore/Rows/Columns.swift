internal import SkyrowModel
internal import SkyrowPostgres

/// How a value is made of the columns of a row: what is selected, and how that is read.
///
/// ```swift
/// let columns = Columns(PendingLogIn.init(user:device:), "pending.user_id", SessionDevice.columns(of: "pending"))
/// let waiting = try await store.read(columns) { "SELECT \($0) FROM \(schema.internal)._pending_login AS pending" }
/// ```
///
/// The types are those of the parameters of `make`, in its order. A column that is NULL, or has another type in the database,
/// fails as `undecodable` unless its parameter takes that.
struct Columns<Row>: Sendable {
    /// The select list.
    let list: SQL
    private let width: Int
    let read: @Sendable (inout RowReader) throws -> Row

    /// - Parameter make: makes the value of the columns; throws for what the database cannot have.
    init<each Value>(
        _ make: @escaping @Sendable (repeat each Value) throws -> Row,
        _ column: repeat Columns<each Value>
    ) {
        var lists: [SQL] = []
        var width = 0
        for column in repeat each column {
            lists.append(column.list)
            width += column.width
        }
        list = lists.joined(separator: ", ")
        self.width = width
        read = { row in try make(repeat try (each column).read(&row)) }
    }

    private init<Value>(ifAny columns: Columns<Value>) where Row == Value? {
        list = columns.list
        width = columns.width
        read = { row in row.skipsNull(columns.width) ? nil : try columns.read(&row) }
    }

    /// The same of an outer join; nil where the first column is NULL.
    var ifAny: Columns<Row?> { Columns<Row?>(ifAny: self) }
}

/// A single column, by its expression.
extension Columns: ExpressibleByUnicodeScalarLiteral, ExpressibleByExtendedGraphemeClusterLiteral,
    ExpressibleByStringLiteral, ExpressibleByStringInterpolation
where Row: PostgresDecodable {
    init(_ expression: SQL) {
        list = expression
        width = 1
        read = { row in try row.next() }
    }

    init(stringLiteral text: StaticString) { self.init(SQL(stringLiteral: text)) }

    init(stringInterpolation: SQL.StringInterpolation) { self.init(SQL(stringInterpolation: stringInterpolation)) }
}

/// Columns of a row to insert, each beside its value.
///
/// ```swift
/// let row: NewRow = ["hash": "\(hash)", "expires_at": "now() + interval '1 minute'"]
/// try await store.write("INSERT INTO \(schema.internal)._flow (\(row.names)) VALUES (\(row.values))")
/// ```
struct NewRow: ExpressibleByDictionaryLiteral {
    private var columns: [(name: SQL, value: SQL)]

    init(dictionaryLiteral columns: (SQL, SQL)...) { self.columns = columns }

    var names: SQL { columns.map(\.name).joined(separator: ", ") }
    var values: SQL { columns.map(\.value).joined(separator: ", ") }
    /// The assignments that replace a row with the same key.
    var replacements: SQL { columns.map { "\($0.name) = EXCLUDED.\($0.name)" as SQL }.joined(separator: ", ") }

    static func + (left: NewRow, right: NewRow) -> NewRow {
        var row = left
        row.columns += right.columns
        return row
    }
}

/// Reads the columns of a row one after another.
struct RowReader {
    private let result: PostgresResult
    private let row: Int
    private var column: Int

    init(_ result: PostgresResult, row: Int, column: Int = 0) {
        self.result = result
        self.row = row
        self.column = column
    }

    /// Skips a number of columns if the next one is NULL.
    mutating func skipsNull(_ width: Int) -> Bool {
        guard result.isNull(row: row, column: column) else { return false }
        column += width
        return true
    }

    mutating func next<Value: PostgresDecodable>() throws(PostgresError) -> Value {
        defer { column += 1 }
        return try result.decode(row: row, column: column)
    }
}

extension PostgresResult {
    /// Reads the rows of a statement that selects these columns.
    func rows<Row>(_ columns: Columns<Row>) throws -> [Row] {
        try (0..<rowCount).map { number in
            var row = RowReader(self, row: number)
            return try columns.read(&row)
        }
    }

    /// Reads the only column of the first row; nil without rows.
    func first<Value: PostgresDecodable>() throws(PostgresError) -> Value? {
        isEmpty ? nil : try decode(row: 0, column: 0)
    }
}

extension RecordStore {
    /// Runs a statement that reads, and returns its rows.
    func read<Row>(_ columns: Columns<Row>, _ statement: (SQL) throws -> SQL) async throws(SkyrowError) -> [Row] {
        var rows: [Row] = []
        try await run(writes: false, { try statement(columns.list) }, { rows = try $0.rows(columns) })
        return rows
    }

    /// Runs a statement that writes, and returns its rows.
    func write<Row>(_ columns: Columns<Row>, _ statement: (SQL) throws -> SQL) async throws(SkyrowError) -> [Row] {
        var rows: [Row] = []
        try await run(writes: true, { try statement(columns.list) }, { rows = try $0.rows(columns) })
        return rows
    }

    /// Runs a statement that reads; returns the only column of its first row, or nil without rows.
    func value<Value: PostgresDecodable>(reading statement: SQL) async throws(SkyrowError) -> Value? {
        var value: Value?
        try await run(writes: false, { statement }, { value = try $0.first() })
        return value
    }

    /// Runs a statement that writes; returns the only column of its first row, or nil without rows.
    func value<Value: PostgresDecodable>(writing statement: SQL) async throws(SkyrowError) -> Value? {
        var value: Value?
        try await run(writes: true, { statement }, { value = try $0.first() })
        return value
    }

    /// Not generic, so that the work of all of these is compiled once.
    private func run(
        writes: Bool,
        _ statement: () throws -> SQL,
        _ decode: (PostgresResult) throws -> Void
    ) async throws(SkyrowError) {
        try await reporting {
            let statement = try statement()
            try decode(writes ? try await client.write(statement) : try await client.read(statement))
        }
    }
}
