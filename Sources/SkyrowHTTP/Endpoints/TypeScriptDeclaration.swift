import SkyrowModel
package import SkyrowProtocol

/// A declaration of actions in TypeScript: their parameters and results, and a map of both by the names of the actions.
package enum TypeScriptDeclaration {
    package static func text(of actions: [ActionDescription]) -> String {
        var text = head
        for name in JSONShapeName.allCases { text += "\n" + declaration(of: name.rawValue, name.documentedShape) }
        for action in actions {
            let name = action.typeName
            let parameters = action.parameters.map {
                JSONMember($0.name, $0.shape, isRequired: $0.isRequired, $0.summary)
            }
            text += "\n/** The parameters of `\(action.name.rawValue)`. */\n"
            text += declaration(of: name + "Parameters", .object(parameters))
            text += "\n/** The result of `\(action.name.rawValue)`. */\n"
            text += declaration(of: name + "Result", action.result)
        }
        text += "\n/** The parameters and the result of every action, by its name. */\nexport interface Actions {\n"
        for action in actions {
            let credentials = action.requirement.sentence + action.stepUp.sentence
            text += comment([action.summary, "", credentials], indent: "  ")
            text += "  \"\(action.name.rawValue)\": "
            text += "{ parameters: \(action.typeName)Parameters; result: \(action.typeName)Result }\n"
        }
        return text + "}\n"
    }

    private static let head = """
        // The actions of Skyrow \(SkyrowVersion.text), as `skyrow types typescript` prints them.
        //
        // An application declares its call of JSON-RPC with them:
        //
        //   async function call<Name extends keyof Actions>(
        //     name: Name, parameters: Actions[Name]["parameters"],
        //   ): Promise<Actions[Name]["result"]>
        //
        //   const { added } = await call<"role:add">("role:add", { role: "editor", users: ["ann"] })

        """

    private static func declaration(of name: String, _ shape: JSONShape) -> String {
        let type = type(shape)
        return if case .object(let members, _) = shape, !members.isEmpty {
            "export interface \(name) \(type)\n"
        } else {
            "export type \(name) = \(type)\n"
        }
    }

    static func type(_ shape: JSONShape, indent: String = "") -> String {
        switch shape {
        case .any: "unknown"
        case .boolean: "boolean"
        case .integer(let minimum?, let maximum?) where minimum == maximum: String(minimum)
        case .integer: "number"
        case .string, .dateTime: "string"
        case .oneOfStrings(let values): values.map { "\"\($0)\"" }.joined(separator: " | ")
        case .array(let element, _, _): self.element(element, indent) + "[]"
        case .tuple(let elements, let rest):
            "["
                + (elements.map { type($0, indent: indent) } + (rest.map { ["...\(element($0, indent))[]"] } ?? []))
                .joined(separator: ", ") + "]"
        case .object([], nil): "{ [name: string]: never }"
        case .object([], let others?): "{ [name: string]: \(type(others, indent: indent)) }"
        case .object(let members, let others): object(members, isOpen: others != nil, indent)
        case .either(let shapes): shapes.map { type($0, indent: indent) }.joined(separator: " | ")
        case .nullable(let shape): type(shape, indent: indent) + " | null"
        case .named(let name): name.rawValue
        }
    }

    /// The type of an element of an array, in parentheses where it is a union.
    private static func element(_ shape: JSONShape, _ indent: String) -> String {
        let type = type(shape, indent: indent)
        return switch shape {
        case .nullable, .either, .oneOfStrings: "(\(type))"
        default: type
        }
    }

    private static func object(_ members: [JSONMember], isOpen: Bool, _ indent: String) -> String {
        let inner = indent + "  "
        var text = "{\n"
        for member in members {
            let bounds = member.shape.bounds.map { $0.prefix(1).uppercased() + $0.dropFirst() + "." } ?? ""
            let words = [member.summary, bounds].filter { !$0.isEmpty }.joined(separator: " ")
            if !words.isEmpty { text += comment([words], indent: inner) }
            let name = propertyName(member.name) + (member.isRequired ? "" : "?")
            text += "\(inner)\(name): \(type(member.shape, indent: inner))\n"
        }
        // A type of other members would have to be that of the listed ones too.
        if isOpen { text += inner + "[name: string]: unknown\n" }
        return text + indent + "}"
    }

    /// A name that is no identifier, such as `content-type`, is a string.
    private static func propertyName(_ name: String) -> String {
        name.utf8.contains(UInt8(ascii: "-")) ? "\"\(name)\"" : name
    }

    private static func comment(_ lines: [String], indent: String) -> String {
        let lines = lines.map { $0.replacing("*/", with: "* /") }
        guard lines.count > 1 else { return "\(indent)/** \(lines.joined()) */\n" }
        return "\(indent)/**\n" + lines.map { "\(indent) *\($0.isEmpty ? "" : " ")\($0)\n" }.joined() + "\(indent) */\n"
    }
}

extension ActionDescription {
    /// The name in the form of TypeScript's types: `RoleAdd` of `role:add`.
    fileprivate var typeName: String {
        name.rawValue.split { $0 == ":" || $0 == "_" }.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }
}
