import SkyrowJSON
package import SkyrowModel

/// Why a call of a function server has no result.
///
/// ```swift
/// do throws(FunctionFailure) { … } catch {
///     log(error.detailed.message, error.trace)
///     throw isInDevelopment ? error.detailed : error.error
/// }
/// ```
package struct FunctionFailure: Error, Hashable, Sendable {
    /// What clients get: the code, message and info of the function, or a general message for `10000 UnexpectedError`.
    package let error: SkyrowError
    /// What the log and clients in development mode get: the same with the function's own message and info.
    package let detailed: SkyrowError
    /// Where the function failed, for the log alone.
    package let trace: String?

    private static let message = "The function failed."

    private init(code: Int, message: String, info: [String: ErrorInfo], trace: String?) {
        let code = ErrorCode(rawValue: code)
        detailed = SkyrowError(code, message.isEmpty ? Self.message : message, info: info)
        error = code == .unexpectedError ? SkyrowError(code, Self.message) : detailed
        self.trace = trace
    }

    /// - Parameter reason: What is wrong with the answer of the function server, as a sentence.
    package init(malformed reason: String) {
        self.init(code: ErrorCode.unexpectedError.rawValue, message: reason, info: [:], trace: nil)
    }

    /// Reads the member `error` of an answer: any integer is a code, and none or 0 is 10000.
    init(_ json: JSONView) {
        guard json.isObject else {
            self.init(malformed: "The error in the answer is not an object.")
            return
        }
        var code = 0
        if let given = json["code"], !given.isNull {
            guard let number = given.wholeNumber.flatMap({ Int(exactly: $0) }) else {
                self.init(malformed: "The code of the error in the answer is not an integer.")
                return
            }
            code = number
        }
        var info: [String: ErrorInfo] = [:]
        var trace: String?
        for (name, value) in json["info"]?.uniqueMembers ?? [] {
            if name == "trace" { trace = value.string } else { info[name] = ErrorInfo(function: value) }
        }
        self.init(
            code: code == 0 ? ErrorCode.unexpectedError.rawValue : code,
            message: json["message"]?.string ?? "",
            info: info,
            trace: trace
        )
    }
}

extension ErrorInfo {
    fileprivate init(function json: JSONView) {
        switch json.kind {
        case .true: self = .boolean(true)
        case .false: self = .boolean(false)
        case .string, .escapedString: self = .string(json.string ?? "")
        case .null, .integer, .number, .array, .object:
            if json.kind == .integer, let value = json.wholeNumber {
                self = .integer(value)
            } else if json.isArray, json.elements.allSatisfy({ $0.isString }) {
                self = .list(json.elements.map { .string($0.string ?? "") })
            } else {
                self = .json(json.jsonText)
            }
        }
    }
}
