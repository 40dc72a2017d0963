import SkyrowActions
import SkyrowModel
import SkyrowProtocol
import Testing

@testable import SkyrowHTTP
@testable import SkyrowJSON

/// What an action reads and what its description says agree, in both directions.
@Suite struct ActionTableTests {
    @Test(arguments: ActionTable.all.map(\.description))
    func theLeastCallIsDecoded(action: ActionDescription) throws {
        _ = try decode(
            action,
            action.parameters.filter { isNeeded($0, by: action) }.map { ($0.name, example(of: $0, for: action)) }
        )
    }

    @Test(arguments: ActionTable.all.map(\.description))
    func aCallWithEveryParameterIsDecoded(action: ActionDescription) throws {
        // The ways to prove who one is exclude each other.
        let parameters = action.parameters.filter {
            (action.name != "auth:stepup" || !["password", "code"].contains($0.name))
                && (action.name != "auth:provider:start" || $0.name != "stepup")
        }
        _ = try decode(action, parameters.map { ($0.name, example(of: $0, for: action)) })
    }

    @Test(arguments: ActionTable.all.map(\.description))
    func aRequiredParameterIsMissed(action: ActionDescription) {
        for missing in action.parameters where missing.isRequired {
            let others = action.parameters.filter { isNeeded($0, by: action) && $0.name != missing.name }
            let error = #expect(throws: SkyrowError.self) {
                try decode(action, others.map { ($0.name, example(of: $0, for: action)) })
            }
            #expect(error?.code == .invalidArgument, "\(missing.name)")
            #expect(error?.info["arguments"] == .list([.string(missing.name)]))
        }
    }

    @Test(arguments: ActionTable.all.map(\.description))
    func everyParameterIsRead(action: ActionDescription) {
        // A parameter that the decoder did not read could not fail by its type.
        for wrong in action.parameters {
            let others = action.parameters.filter { isNeeded($0, by: action) && $0.name != wrong.name }
            let error = #expect(throws: SkyrowError.self, "\(wrong.name)") {
                try decode(
                    action,
                    others.map { ($0.name, example(of: $0, for: action)) } + [(wrong.name, misfit(for: wrong.shape))]
                )
            }
            #expect(error?.code == .badRequest || error?.code == .invalidArgument || error?.code == .recordQueryInvalid)
        }
    }

    private func decode(_ action: ActionDescription, _ parameters: [(String, String)]) throws -> PreparedAction {
        let text = "{" + parameters.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}"
        let entry = try #require(ActionTable[action.name])
        return try JSONDocument(Array(text.utf8)).withRoot { root throws(SkyrowError) in
            try entry.read(root, rules: .rpc)
        }
    }

    /// Whether the least call has it: what is required, and one of what is required in the place of each other.
    private func isNeeded(_ parameter: ActionParameter, by action: ActionDescription) -> Bool {
        switch (action.name, parameter.name) {
        case ("record:delete", "ids"), ("record:update", "predicate"), ("record:update", "at_most"),
            ("session:revoke", "ids"),
            ("auth:stepup", "provider"), ("auth:stepup", "id_token"), ("auth:stepup", "nonce"):
            true
        default: parameter.isRequired
        }
    }

    /// A text that fits a parameter.
    private func example(of parameter: ActionParameter, for action: ActionDescription) -> String {
        switch parameter.name {
        case "set": #"{"title":"x"}"#
        case "holding": #"{"ids":["note/1"]}"#
        // The cursor of a pass has its token in it.
        case "cursor" where action.name == "changes:fetch": "null"
        case "fields" where action.name == "schema:access:set": #"{"title":{"read":[{"owner":true}]}}"#
        case "id" where action.name == "key:rotate" || action.name == "key:revoke": #""k7f3q9x2a""#
        // Records are named by their ids or by a predicate.
        case "ids" where action.name == "record:update": "null"
        // Sessions are named by their ids, or all are meant.
        case "ids" where action.name == "session:revoke": "[]"
        case "all", "except_current": "null"
        case "predicate", "record_type", "at_most", "dry_run":
            action.name == "record:delete" ? "null" : commonExample(of: parameter)
        default: commonExample(of: parameter)
        }
    }

    private func commonExample(of parameter: ActionParameter) -> String {
        switch parameter.name {
        case "records": #"[{"_id":"note/1","title":"x"}]"#
        case "ids": #"["note/1"]"#
        case "record": #""note/1""#
        case "content-type": #""image/png""#
        case "record_type": #""note""#
        case "fields": #"[["title"]]"#
        case "item_name", "new_name": #""title""#
        case "predicate": #"["eq",{"$type":"keypath","$val":"title"},"x"]"#
        // A page has one position, and a query one way to say which fields it sends.
        case "before", "last", "omit", "desired_keys": "null"
        case "sort": #"[[{"$type":"keypath","$val":"title"},"asc"]]"#
        case "include": #"{"a":{"$type":"keypath","$val":"author"}}"#
        case "record_types": #"{"note":{"fields":[{"name":"title","type":"string"}]}}"#
        case "language": #""de""#
        case "events": #"["created"]"#
        // RFC 7636, appendix B.
        case "code_challenge": #""E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM""#
        case "code_verifier": #""dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk""#
        default: example(of: parameter.shape)
        }
    }

    private func example(of shape: JSONShape) -> String {
        switch shape {
        case .any, .dateTime, .named: "null"
        case .boolean: "true"
        case .integer: "1"
        case .string: #""text""#
        case .oneOfStrings(let values): "\"\(values.first ?? "")\""
        case .array, .tuple: "[]"
        case .object: "{}"
        case .either(let shapes): shapes.first.map { example(of: $0) } ?? "null"
        case .nullable(let shape): example(of: shape)
        }
    }

    /// A text of a JSON type that does not fit.
    private func misfit(for shape: JSONShape) -> String {
        switch shape {
        case .nullable(let shape): misfit(for: shape)
        case .named(.predicate): "true"
        case .boolean, .integer, .array, .tuple, .object: #""x""#
        case .any, .string, .dateTime, .oneOfStrings, .either, .named: "7"
        }
    }
}
