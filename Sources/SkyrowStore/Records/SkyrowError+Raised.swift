internal import SkyrowJSON
internal import SkyrowModel
internal import SkyrowPostgres

extension SkyrowError {
    /// Upper bound on the bytes of a message that the database raises.
    private static let maximumRaisedMessage = 1000
    /// Upper bound on the bytes of the detail that has a code and `info`.
    private static let maximumRaisedDetail = 8192
    /// The codes of errors of Skyrow that a function or a trigger may raise.
    private static let raisableCodes = 101...138
    /// The codes that are free for applications.
    private static let applicationCodes = 20_000...29_999

    /// The error that a function or a trigger of the application raises for the client; nil for any other error.
    ///
    /// ```sql
    /// RAISE EXCEPTION 'The score is too high.' USING ERRCODE = 'SK108';
    /// RAISE EXCEPTION 'The game is over.' USING ERRCODE = 'SKAPP', DETAIL = '{"code": 20001, "info": {"winner": "ann"}}';
    /// ```
    ///
    /// A code that does not exist is `10000`, without the message.
    init?(raised error: PostgresError) {
        guard error.code == .server, let state = error.sqlState,
            state.conditionClass == PostgresSQLState.applicationClass
        else { return nil }
        let message = Self.bounded(error.message ?? "")
        if state.rawValue == "SKAPP" {
            self = Self.application(message, error.detail) ?? .unexpected
            return
        }
        guard let number = Int(state.rawValue.dropFirst(2)), Self.raisableCodes.contains(number),
            ErrorCode(rawValue: number).ordinal != nil
        else {
            self = .unexpected
            return
        }
        self.init(ErrorCode(rawValue: number), message)
    }

    private static func application(_ message: String, _ detail: String?) -> SkyrowError? {
        guard let detail, detail.utf8.count <= maximumRaisedDetail,
            let document = try? JSONDocument(Array(detail.utf8))
        else { return nil }
        return document.withRoot { json -> SkyrowError? in
            guard json.isObject, let code = json["code"]?.wholeNumber.flatMap({ Int(exactly: $0) }),
                applicationCodes.contains(code)
            else { return nil }
            var info: [String: ErrorInfo] = [:]
            if let members = json["info"], members.isObject {
                for (name, value) in members.uniqueMembers { info[name] = ErrorInfo(raised: value) }
            }
            return SkyrowError(ErrorCode(rawValue: code), message, info: info)
        }
    }

    private static func bounded(_ text: String) -> String {
        guard text.utf8.count > maximumRaisedMessage else { return text }
        var length = 0
        return String(
            String.UnicodeScalarView(
                text.unicodeScalars.prefix { scalar in
                    length += UTF8.width(scalar)
                    return length <= maximumRaisedMessage
                }
            )
        )
    }
}

extension ErrorInfo {
    /// A member of `info` as a function or a trigger gives it; nil for an object, a fraction and null.
    fileprivate init?(raised json: JSONView) {
        if let text = json.string {
            self = .string(text)
        } else if let boolean = json.boolean {
            self = .boolean(boolean)
        } else if case .integer(let value)? = json.number {
            self = .integer(value)
        } else if json.isArray {
            self = .list(json.elements.compactMap { ErrorInfo(raised: $0) })
        } else {
            return nil
        }
    }
}
