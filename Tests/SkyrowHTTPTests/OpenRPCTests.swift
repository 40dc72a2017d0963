import SkyrowActions
import SkyrowModel
import SkyrowProtocol
import Testing

@testable import SkyrowHTTP

/// The document of `rpc.discover`, against the rules of OpenRPC 1.3 and JSON Schema draft 7.
@Suite struct OpenRPCTests {
    private let document: JSONValue

    init() throws {
        document = try JSONValue(String(decoding: OpenRPCDocument.text.utf8, as: UTF8.self))
    }

    @Test func theFrameIsComplete() {
        #expect(document["openrpc"].string?.wholeMatch(of: /1\.[0-9]+\.[0-9]+/) != nil)
        #expect(document["info"]["title"] == .string("Skyrow"))
        #expect(document["info"]["version"].string != nil)
        #expect(Set(document.members.keys) == ["openrpc", "info", "methods", "components"])
    }

    @Test func everyActionIsAMethodInTheOrderOfTheCatalog() {
        #expect(
            document["methods"].elements.map { $0["name"].string } == ActionTable.all.map(\.description.name.rawValue)
        )
    }

    @Test func everyMethodHasItsParametersResultAndErrors() throws {
        for (method, action) in zip(document["methods"].elements, ActionTable.all.map(\.description)) {
            #expect(method["summary"].string == action.summary)
            #expect(method["paramStructure"] == .string("by-name"))
            let parameters = method["params"].elements
            #expect(parameters.map { $0["name"].string } == action.parameters.map(\.name))
            #expect(parameters.map { $0["required"] } == action.parameters.map { .boolean($0.isRequired) })
            // OpenRPC: required parameters come before optional ones.
            let required = parameters.map { $0["required"] == .boolean(true) }
            #expect(required == required.sorted { $0 && !$1 }, "\(action.name)")
            for parameter in parameters { try check(schema: parameter["schema"]) }
            #expect(method["result"]["name"].string?.isEmpty == false)
            try check(schema: method["result"]["schema"])
            let codes = method["errors"].elements.compactMap { $0["code"].integer }
            #expect(Set(codes).count == codes.count, "\(action.name)")
            #expect(Set(codes).isSuperset(of: action.errors.map(\.rawValue)))
            #expect(method["errors"].elements.allSatisfy { $0["message"].string?.isEmpty == false })
        }
    }

    @Test func whatNeedsAConnectionSaysSo() {
        let marked = document["methods"].elements.filter { $0["x-needs-connection"] == .boolean(true) }
        #expect(
            marked.compactMap { $0["name"].string }.sorted()
                == ["connection:authenticate", "live:subscribe", "live:unsubscribe", "live:watch"]
        )
        let others = document["methods"].elements.filter { !marked.contains($0) }
        #expect(others.allSatisfy { $0.members["x-needs-connection"] == nil })
    }

    @Test func everySharedSchemaIsValidAndUsed() throws {
        let schemas = document["components"]["schemas"].members
        #expect(Set(schemas.keys) == Set(JSONShapeName.allCases.map(\.rawValue)))
        for schema in schemas.values { try check(schema: schema) }
    }

    /// Checks keywords, their types, and that references lead somewhere.
    private func check(schema: JSONValue) throws {
        if case .boolean = schema { return }
        let members = try #require(schema.object)
        for (keyword, value) in members {
            switch keyword {
            case "$ref":
                let name = try #require(value.string?.wholeMatch(of: /#\/components\/schemas\/([A-Za-z]+)/)?.1)
                #expect(document["components"]["schemas"].members[String(name)] != nil, "\(name)")
            case "type":
                let types = ["boolean", "number", "integer", "string", "array", "object", "null"]
                #expect(types.contains(try #require(value.string)))
            case "format": #expect(value == .string("date-time"))
            case "enum": #expect(!value.elements.isEmpty)
            case "minimum", "maximum", "maxLength", "minItems", "maxItems": #expect(value.integer != nil)
            case "items":
                if case .array(let elements) = value {
                    for element in elements { try check(schema: element) }
                } else {
                    try check(schema: value)
                }
            case "additionalItems", "additionalProperties": try check(schema: value)
            case "anyOf":
                #expect(!value.elements.isEmpty)
                for element in value.elements { try check(schema: element) }
            case "properties": for property in value.members.values { try check(schema: property) }
            case "required":
                let known = Set(schema["properties"].members.keys)
                #expect(value.elements.allSatisfy { $0.string.map(known.contains) ?? false })
            default: Issue.record("The keyword \(keyword) is not one of ours")
            }
        }
    }
}

extension JSONValue {
    fileprivate var object: [String: JSONValue]? {
        guard case .object(let members) = self else { return nil }
        return members
    }
}
