internal import CLibpq

extension PostgresError {
    /// The error of a result with the status FATAL_ERROR.
    ///
    /// The server sends a SQLSTATE with every error. A result without one was made by libpq, which could not send, or did not
    /// understand what it received: the connection is lost, even if its libpq status is OK.
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

    /// Whether the connection is unusable after this result: the server closes the session (severity FATAL or PANIC), or libpq
    /// made the result itself.
    static func endsSession(result: OpaquePointer) -> Bool {
        PQresultErrorField(result, Int32(UInt8(ascii: "C"))) == nil || announcesEnd(result: result)
    }

    /// Whether the server closes the session with this error or notice.
    static func announcesEnd(result: OpaquePointer) -> Bool {
        guard let severity = PQresultErrorField(result, Int32(UInt8(ascii: "V"))) else { return false }
        return severity[0] == CChar(bitPattern: UInt8(ascii: "F"))
            || severity[0] == CChar(bitPattern: UInt8(ascii: "P"))
    }
}
