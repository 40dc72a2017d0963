import SkyrowModel
import SkyrowProtocol
import Testing

@testable import SkyrowHTTP
@testable import SkyrowJSON

/// The endpoints' table of actions and the catalog agree, in both directions.
@Suite struct ActionTableTests {
    @Test func theCatalogHasEveryActionTheDoorsKnow() {
        for name in ActionName.allCases {
            #expect(ActionName(wireName: name.rawValue) == name)
            #expect(ActionCatalog[name].name == name)
        }
        #expect(ActionCatalog.all.map(\.name) == ActionName.allCases)
    }

    @Test(arguments: ActionCatalog.all)
    func theLeastCallOfTheCatalogIsDecoded(action: ActionDescription) throws {
        _ = try decode(
            action,
            action.parameters.filter { isNeeded($0, by: action) }.map { ($0.name, example(of: $0, for: action)) }
        )
    }

    @Test(arguments: ActionCatalog.all)
    func aCallWithEveryParameterOfTheCatalogIsDecoded(action: ActionDescription) throws {
        // The ways to prove who one is exclude each other.
        let parameters = action.parameters.filter {
            (action.name != .authStepUp || !["password", "code"].contains($0.name))
                && (action.name != .authProviderStart || $0.name != "stepup")
        }
        _ = try decode(action, parameters.map { ($0.name, example(of: $0, for: action)) })
    }

    @Test(arguments: ActionCatalog.all)
    func whatTheCatalogRequiresIsMissed(action: ActionDescription) {
        for missing in action.parameters where missing.isRequired {
            let others = action.parameters.filter { isNeeded($0, by: action) && $0.name != missing.name }
            let error = #expect(throws: SkyrowError.self) {
                try decode(action, others.map { ($0.name, example(of: $0, for: action)) })
            }
            #expect(error?.code == .invalidArgument, "\(missing.name)")
            #expect(error?.info["arguments"] == .list([.string(missing.name)]))
        }
    }

    @Test(arguments: ActionCatalog.all)
    func everyParameterOfTheCatalogIsRead(action: ActionDescription) {
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

    private func decode(_ action: ActionDescription, _ parameters: [(String, String)]) throws -> ActionCall {
        let text = "{" + parameters.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}"
        return try JSONDocument(Array(text.utf8)).withRoot { root in
            Result { () throws(SkyrowError) in try ActionCall(action.name, parameters: root, rules: .rpc) }
        }.get()
    }

    /// Whether the least call has it: what is required, and one of what is required in the place of each other.
    private func isNeeded(_ parameter: ActionParameter, by action: ActionDescription) -> Bool {
        switch (action.name, parameter.name) {
        case (.recordDelete, "ids"), (.recordUpdate, "predicate"), (.recordUpdate, "at_most"), (.sessionRevoke, "ids"),
            (.authStepUp, "provider"), (.authStepUp, "id_token"), (.authStepUp, "nonce"):
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
        case "cursor" where action.name == .changesFetch: "null"
        case "fields" where action.name == .schemaAccessSet: #"{"title":{"read":[{"owner":true}]}}"#
        case "id" where action.name == .keyRotate || action.name == .keyRevoke: #""k7f3q9x2a""#
        // Records are named by their ids or by a predicate.
        case "ids" where action.name == .recordUpdate: "null"
        // Sessions are named by their ids, or all are meant.
        case "ids" where action.name == .sessionRevoke: "[]"
        case "all", "except_current": "null"
        case "predicate", "record_type", "at_most", "dry_run":
            action.name == .recordDelete ? "null" : commonExample(of: parameter)
        default: commonExample(of: parameter)
        }
    }

    private func commonExample(of parameter: ActionParameter) -> String {
        switch parameter.name {
        case "records": #"[{"_id":"note/1","title":"x"}]"#
        case "ids": #"["note/1"]"#
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
        case .number, .integer: "1"
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
        case .boolean, .number, .integer, .array, .tuple, .object: #""x""#
        case .any, .string, .dateTime, .oneOfStrings, .either, .named: "7"
        }
    }
}
