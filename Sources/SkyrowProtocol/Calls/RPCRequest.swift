package import SkyrowJSON
package import SkyrowModel

/// The id of a JSON-RPC call, kept as it was sent: a string, a number or `null`.
package struct RPCID: Hashable, Sendable {
    package let text: JSONText

    init(_ json: JSONView) {
        text = json.jsonText
    }

    /// What a result carries when the call's own id could not be read.
    package static let null = RPCID(text: JSONText(validated: Array("null".utf8)))

    /// A number of the client's own.
    package init(_ number: Int) {
        text = JSONText(validated: Array(String(number).utf8))
    }

    private init(text: JSONText) {
        self.text = text
    }
}

/// One call of JSON-RPC 2.0.
package struct RPCCall {
    package let method: String
    /// The named parameters; nil when the call has none.
    package let parameters: JSONView?
    /// nil for a notification, which gets no result.
    package let id: RPCID?
}

/// What stands where a call should be.
package enum RPCEntry {
    case call(RPCCall)
    /// The error and id of the response; a notification (nil) gets none even then.
    case invalid(SkyrowError, RPCID?)
}

/// The body of `POST /rpc`, to the letter of JSON-RPC 2.0 (https://www.jsonrpc.org/specification).
package enum RPCRequest {
    case single(RPCEntry)
    /// At least one entry.
    case batch([RPCEntry])

    /// Reads a body; an empty batch is a single invalid request, as the specification has it.
    package init(_ json: JSONView) {
        if json.isArray, json.count > 0 {
            self = .batch(json.elements.map { RPCEntry($0) })
        } else {
            self = .single(RPCEntry(json))
        }
    }
}

extension RPCEntry {
    fileprivate init(_ json: JSONView) {
        guard json.isObject else {
            self = .invalid(SkyrowError(.invalidRequest, "A JSON-RPC request must be an object."), .null)
            return
        }
        let id = json["id"]
        switch id?.kind {
        case nil, .null, .integer, .number, .string, .escapedString: break
        case .false, .true, .array, .object:
            self = .invalid(SkyrowError(.invalidRequest, "\"id\" must be a string, a number or null."), .null)
            return
        }
        let responseID = id.map { RPCID($0) }
        guard let version = json["jsonrpc"], version.equals("2.0") else {
            self = .invalid(SkyrowError(.invalidRequest, "\"jsonrpc\" must be \"2.0\"."), responseID ?? .null)
            return
        }
        guard let method = json["method"]?.string else {
            self = .invalid(SkyrowError(.invalidRequest, "\"method\" must be a string."), responseID ?? .null)
            return
        }
        var parameters = json["params"]
        switch parameters?.kind {
        case nil, .object: break
        case .array where parameters?.count == 0:
            // Of no parameters it does not matter whether they go by name.
            parameters = nil
        case .array:
            self = .invalid(
                SkyrowError(.invalidParams, "Parameters are passed by name: \"params\" must be an object."),
                responseID
            )
            return
        case .null, .false, .true, .integer, .number, .string, .escapedString:
            self = .invalid(SkyrowError(.invalidRequest, "\"params\" must be an object."), responseID ?? .null)
            return
        }
        self = .call(RPCCall(method: method, parameters: parameters, id: responseID))
    }
}
