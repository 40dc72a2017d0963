import SkyrowActions
import SkyrowJSON
import SkyrowModel
import SkyrowProtocol

/// The result of `rpc.discover`: every action in OpenRPC 1.3 (https://spec.open-rpc.org), generated from the catalog.
enum OpenRPCDocument {
    /// The document without functions of the application.
    static let text: JSONText = {
        let writer = JSONWriter(capacity: 64 * 1024)
        writer.openRPCDocument(with: [])
        return writer.jsonText
    }()

    /// The text up to the end of the last action, and the rest.
    fileprivate static let parts: (head: [UInt8], tail: [UInt8]) = {
        let writer = JSONWriter(capacity: 64 * 1024)
        writer.openRPCHead()
        let head = writer.bytes
        writer.openRPCTail()
        return (head, Array(writer.bytes.dropFirst(head.count)))
    }()
}

extension JSONWriter {
    /// Writes the document with the functions of an application after the actions.
    func openRPCDocument(with functions: [FunctionDescription]) {
        separate()
        OpenRPCDocument.parts.head.withUnsafeBufferPointer { append($0) }
        for function in functions where refusal == nil { method(function) }
        OpenRPCDocument.parts.tail.withUnsafeBufferPointer { append($0) }
    }

    private func method(_ function: FunctionDescription) {
        beginObject()
        member("name", function.name.rawValue)
        if !function.summary.isEmpty { member("summary", function.summary) }
        beginArray("tags")
        beginObject()
        member("name", "function")
        endObject()
        endArray()
        member("paramStructure", "by-name")
        // The schema of all arguments, which OpenRPC divides into parameters.
        if let parameters = function.parameters {
            key("x-arguments")
            json(parameters.text)
        }
        beginArray("params")
        endArray()
        beginObject("result")
        member("name", "result")
        key("schema")
        if let result = function.result {
            json(result)
        } else {
            beginObject()
            endObject()
        }
        endObject()
        endObject()
    }

    fileprivate func openRPCHead() {
        beginObject()
        member("openrpc", "1.3.2")
        beginObject("info")
        member("title", "Skyrow")
        member("version", "1.0.0")
        member("description", "Records, accounts and roles in PostgreSQL, over JSON-RPC 2.0.")
        endObject()
        beginArray("methods")
        for action in ActionTable.all { method(action.description) }
    }

    fileprivate func openRPCTail() {
        endArray()
        beginObject("components")
        beginObject("schemas")
        for name in JSONShapeName.allCases {
            key(name.rawValue)
            schema(name.documentedShape)
        }
        endObject()
        endObject()
        endObject()
    }

    private func method(_ action: ActionDescription) {
        beginObject()
        member("name", action.name.rawValue)
        member("summary", action.summary)
        member("description", action.requirement.sentence + action.stepUp.sentence)
        beginArray("tags")
        beginObject()
        member("name", String(action.name.rawValue.prefix { $0 != ":" }))
        endObject()
        endArray()
        member("paramStructure", "by-name")
        if action.needsConnection {
            // Works only on a long-lived connection: a WebSocket or an event stream.
            member("x-needs-connection", true)
        }
        beginArray("params")
        for parameter in action.parameters { self.parameter(parameter) }
        endArray()
        beginObject("result")
        member("name", "result")
        key("schema")
        schema(action.result)
        endObject()
        beginArray("errors")
        // A setting may require step-up for an action that does not require it itself.
        let further: [ErrorCode] = action.mayTakeStepUp ? [.stepUpRequired] : []
        for code in Set(action.errors + further + ActionDescription.commonErrors).sorted(by: {
            $0.rawValue < $1.rawValue
        }) {
            error(code)
        }
        endArray()
        endObject()
    }

    private func parameter(_ parameter: ActionParameter) {
        beginObject()
        member("name", parameter.name)
        member("summary", parameter.summary)
        member("required", parameter.isRequired)
        key("schema")
        schema(parameter.shape)
        endObject()
    }

    private func error(_ code: ErrorCode) {
        beginObject()
        member("code", code.rawValue)
        member("message", code.name)
        endObject()
    }
}

// MARK: - JSON Schema

extension JSONWriter {
    /// A shape as JSON Schema draft 7, which OpenRPC uses.
    fileprivate func schema(_ shape: JSONShape) {
        beginObject()
        schemaMembers(shape)
        endObject()
    }

    private func schemaMembers(_ shape: JSONShape) {
        switch shape {
        case .any:
            break
        case .boolean:
            member("type", "boolean")
        case .integer(let minimum, let maximum):
            member("type", "integer")
            bound("minimum", minimum)
            bound("maximum", maximum)
        case .string(let maximum):
            member("type", "string")
            bound("maxLength", maximum)
        case .dateTime:
            member("type", "string")
            member("format", "date-time")
        case .oneOfStrings(let values):
            member("type", "string")
            beginArray("enum")
            for value in values { string(value) }
            endArray()
        case .array(let element, let minimum, let maximum):
            member("type", "array")
            key("items")
            schema(element)
            if minimum > 0 { bound("minItems", minimum) }
            bound("maxItems", maximum)
        case .tuple(let elements, let rest):
            tuple(elements, rest: rest)
        case .object(let members, let others):
            object(members, others: others)
        case .either(let shapes):
            beginArray("anyOf")
            for shape in shapes { schema(shape) }
            endArray()
        case .nullable(let shape):
            beginArray("anyOf")
            schema(shape)
            beginObject()
            member("type", "null")
            endObject()
            endArray()
        case .named(let name):
            member("$ref", "#/components/schemas/\(name.rawValue)")
        }
    }

    private func tuple(_ elements: [JSONShape], rest: JSONShape?) {
        member("type", "array")
        beginArray("items")
        for element in elements { schema(element) }
        endArray()
        bound("minItems", elements.count)
        key("additionalItems")
        if let rest { schema(rest) } else { boolean(false) }
    }

    private func object(_ members: [JSONMember], others: JSONShape?) {
        member("type", "object")
        if !members.isEmpty {
            beginObject("properties")
            for member in members {
                key(member.name)
                schema(member.shape)
            }
            endObject()
        }
        let required = members.filter(\.isRequired)
        if !required.isEmpty {
            beginArray("required")
            for member in required { string(member.name) }
            endArray()
        }
        key("additionalProperties")
        if let others { schema(others) } else { boolean(false) }
    }

    private func bound(_ name: StaticString, _ value: Int?) {
        guard let value else { return }
        key(name)
        integer(value)
    }
}

extension JSONShapeName {
    /// The shape that the document describes, where predicates have those of all operators.
    var documentedShape: JSONShape { self == .predicate ? OperatorTable.shape : shape }
}

extension StepUp {
    var sentence: String {
        switch self {
        case .none: ""
        case .when(let words): " Needs step-up \(words)."
        case .always: " Needs step-up."
        }
    }
}

extension ActionRequirement {
    /// The required credentials, in one sentence.
    var sentence: String {
        switch self {
        case .nothing: "Needs neither a key nor a token; one that is sent must be valid."
        case .key: "Needs an API key or the master key."
        case .keyOrToken: "Needs a key or an access token."
        case .user: "Needs a logged-in user."
        case .userOrMaster: "Needs a logged-in user or the master key."
        case .administrator: "Needs a user with an administrator's role, or the master key."
        case .master: "Needs the master key."
        case .masterOrDevelopment: "Needs the master key, or any key while the service is in development mode."
        }
    }
}
