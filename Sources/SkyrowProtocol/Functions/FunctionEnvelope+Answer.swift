import SkyrowJSON
package import SkyrowModel

extension FunctionEnvelope {
    /// Reads the body of a response.
    ///
    /// Throws the error that the function returned, with its code, message and info; `10000 UnexpectedError` with a general message
    /// for what is no answer.
    package func answer(_ bytes: UnsafeRawBufferPointer, to call: FunctionCall) throws(SkyrowError) -> FunctionAnswer {
        do throws(FunctionFailure) { return try read(bytes, to: call) } catch { throw error.error }
    }

    /// Reads the body of a response, and throws what the log and development mode show too.
    package func read(
        _ bytes: UnsafeRawBufferPointer,
        to call: FunctionCall
    ) throws(FunctionFailure) -> FunctionAnswer {
        let outcome: Result<FunctionAnswer, FunctionFailure>
        do throws(JSONParseError) {
            outcome = try JSONDocument.read(bytes) { root in
                Result { () throws(FunctionFailure) in try answer(root, to: call.content) }
            }
        } catch {
            throw FunctionFailure(malformed: "The answer is not JSON. \(error.description).")
        }
        return try outcome.get()
    }

    private func answer(
        _ json: JSONView,
        to content: FunctionCall.Content
    ) throws(FunctionFailure) -> FunctionAnswer {
        guard json.isObject else { throw FunctionFailure(malformed: "The answer is not an object.") }
        if let error = json["error"], !error.isNull { throw FunctionFailure(error) }
        if case .event = content { return .nothing }
        guard let result = json["result"] else {
            throw FunctionFailure(malformed: "The answer has neither a result nor an error.")
        }
        switch content {
        case .function: return .value(result.jsonText)
        case .hook(let hook, let input): return try hookAnswer(result, hook, input)
        case .event: return .nothing
        case .handler: return .handler(try HandlerResponse(result))
        case .provider: return try principal(result)
        }
    }

    private func hookAnswer(
        _ result: JSONView,
        _ hook: HookDescription,
        _ input: HookInput
    ) throws(FunctionFailure) -> FunctionAnswer {
        switch input {
        case .account: return .nothing
        case .query: return .query(try QueryVerdict(result))
        case .records(let records):
            if hook.isAsync || hook.trigger == .afterSave || hook.trigger == .afterDelete {
                return .records(records.map { _ in .unchanged })
            }
            guard dialect == .skyrow else {
                guard hook.trigger == .beforeSave, let sent = records.first else {
                    return .records(records.map { _ in .unchanged })
                }
                return .records([try HookMerge.verdict(ofSkygear: result, on: sent.record)])
            }
            guard result.isArray, result.count == records.count else {
                throw FunctionFailure(
                    malformed: "The answer of the hook is not a list with an entry for each record."
                )
            }
            var verdicts: [HookVerdict] = []
            verdicts.reserveCapacity(records.count)
            for entry in result.elements { verdicts.append(try HookMerge.verdict(of: entry, hook.trigger)) }
            return .records(verdicts)
        }
    }

    private func principal(_ result: JSONView) throws(FunctionFailure) -> FunctionAnswer {
        guard let principal = result["principal_id"]?.string, principal.isName else {
            throw FunctionFailure(malformed: "The answer of the provider has no principal_id of 1 to 255 bytes.")
        }
        guard let data = result["auth_data"], !data.isNull else {
            return .principal(principal, authData: JSONText(validated: Array("{}".utf8)))
        }
        guard data.isObject else { throw FunctionFailure(malformed: "The auth_data of the provider is not an object.") }
        return .principal(principal, authData: data.jsonText)
    }
}

extension QueryVerdict {
    fileprivate init(_ json: JSONView) throws(FunctionFailure) {
        self.init()
        guard json.isObject || json.isNull else {
            throw FunctionFailure(malformed: "The answer of the hook is not an object.")
        }
        for (name, value) in json.uniqueMembers where !value.isNull {
            switch name {
            case "predicate":
                guard value.isArray else { throw FunctionFailure(malformed: "The predicate is not a list.") }
                predicate = value.jsonText
            case "limit":
                guard let number = value.wholeNumber.flatMap({ Int(exactly: $0) }), number >= 0 else {
                    throw FunctionFailure(malformed: "The limit is not a whole number from 0.")
                }
                limit = number
            default:
                throw FunctionFailure(
                    malformed: "The answer of a beforeQuery hook has the member \"\(excerpt(of: name))\"."
                )
            }
        }
    }
}

extension HandlerResponse {
    /// Upper bound on the header fields of an answer.
    private static let maximumFields = 200

    /// Fields that frame the response belong to the service, and are dropped.
    private static let framing: Set<String> = [
        "connection", "content-length", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection",
        "te", "trailer", "transfer-encoding", "upgrade",
    ]

    fileprivate init(_ json: JSONView) throws(FunctionFailure) {
        guard json.isObject else { throw FunctionFailure(malformed: "The answer of the handler is not an object.") }
        var status = 200
        if let given = json["status"], !given.isNull {
            guard let number = given.wholeNumber.flatMap({ Int(exactly: $0) }), (100...599).contains(number) else {
                throw FunctionFailure(malformed: "The status of the handler's answer is not a number from 100 to 599.")
            }
            status = number
        }
        self.init(status: status, fields: [], body: [])
        for (name, value) in json["header"]?.uniqueMembers ?? [] {
            guard name.isFieldName else { throw FunctionFailure(malformed: "The answer has an illegal header name.") }
            for value in value.isArray ? Array(value.elements) : [value] {
                guard let text = value.string, text.isFieldValue else {
                    throw FunctionFailure(malformed: "The header field \"\(excerpt(of: name))\" has an illegal value.")
                }
                if !Self.framing.contains(name.lowercased()) { fields.append((name, text)) }
            }
            guard fields.count <= Self.maximumFields else {
                throw FunctionFailure(malformed: "The answer has more than \(Self.maximumFields) header fields.")
            }
        }
        guard let text = json["body"], !text.isNull else { return }
        guard let bytes = text.string.flatMap({ decodeBase64($0.utf8) }) else {
            throw FunctionFailure(malformed: "The body of the handler's answer is not base64.")
        }
        body = bytes
    }
}

extension String {
    /// A token of RFC 9110, 5.6.2.
    fileprivate var isFieldName: Bool {
        (1...255).contains(utf8.count)
            && utf8.allSatisfy {
                (0x30...0x39).contains($0) || (0x61...0x7A).contains($0 | 0x20) || "!#$%&'*+-.^_`|~".utf8.contains($0)
            }
    }

    /// Without control characters but the tab, so also without CR, LF and NUL.
    fileprivate var isFieldValue: Bool { utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 } }
}
