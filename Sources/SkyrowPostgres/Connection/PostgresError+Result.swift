internal import CLibpq

extension PostgresError {
    /// The error a result of the status FATAL_ERROR carries.
    ///
    /// The server names the condition of every error that it reports. A result without one was made by libpq, because
    /// it could not send or understand what it received: the connection is lost, whatever libpq calls its status.
    init(result: OpaquePointer) {
        func field(_ code: UnicodeScalar) -> String? {
            PQresultErrorField(result, Int32(code.value)).map { String(cString: $0) }
        }
        let sqlState = field("C").map { PostgresSQLState(rawValue: $0) }
        let code: Code =
            switch sqlState {
            case nil: .connectionLost
            case .queryCanceled: .statementTimeout
            default: .server
            }
        self.init(
            code: code,
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

    /// Whether the connection is of no more use after this result: the server said that it closes the session
    /// (severity FATAL or PANIC), or libpq made the result itself.
    static func endsSession(result: OpaquePointer) -> Bool {
        PQresultErrorField(result, Int32(UInt8(ascii: "C"))) == nil || announcesEnd(result: result)
    }

    /// Whether the server said that it closes the session with this error or notice.
    static func announcesEnd(result: OpaquePointer) -> Bool {
        guard let severity = PQresultErrorField(result, Int32(UInt8(ascii: "V"))) else { return false }
        return severity[0] == CChar(bitPattern: UInt8(ascii: "F"))
            || severity[0] == CChar(bitPattern: UInt8(ascii: "P"))
    }
}
