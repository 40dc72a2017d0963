internal import CLibpq

extension PostgresError {
    /// The error a result of the status FATAL_ERROR carries.
    init(result: OpaquePointer) {
        func field(_ code: UnicodeScalar) -> String? {
            PQresultErrorField(result, Int32(code.value)).map { String(cString: $0) }
        }
        let sqlState = field("C").map { PostgresSQLState(rawValue: $0) }
        self.init(
            code: sqlState == .queryCanceled ? .statementTimeout : .server,
            sqlState: sqlState,
            schema: field("s"),
            table: field("t"),
            column: field("c"),
            constraint: field("n"),
            message: field("M") ?? String(cString: PQresultErrorMessage(result)),
            detail: field("D"),
            hint: field("H")
        )
    }

    /// Whether the server said that it closes the session with this error (severity FATAL or PANIC).
    static func endsSession(result: OpaquePointer) -> Bool {
        guard let severity = PQresultErrorField(result, Int32(UInt8(ascii: "V"))) else { return false }
        return severity[0] == CChar(bitPattern: UInt8(ascii: "F"))
            || severity[0] == CChar(bitPattern: UInt8(ascii: "P"))
    }
}
