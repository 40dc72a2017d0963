import SkyrowJSON
import SkyrowModel

/// Reads the rules of a schema.
struct SchemaReader {
    /// Upper bound on the levels of a schema.
    private static let maximumDepth = 16
    /// Upper bound on the rules of a schema.
    private static let maximumRules = 1_000
    /// Upper bound on the values of an `enum`.
    private static let maximumValues = 1_000

    /// The keywords that are passed over, since they only describe.
    private static let descriptions: Set<String> = [
        "title", "description", "examples", "deprecated", "$comment", "$schema", "$id",
    ]

    private var count = 0

    mutating func rule(_ json: JSONView, at path: String, depth: Int) throws(RegistrationFault) -> SchemaRule {
        guard json.isObject else { throw RegistrationFault("\"\(path)\" must be a JSON Schema, an object.") }
        count += 1
        guard depth <= Self.maximumDepth, count <= Self.maximumRules else {
            throw RegistrationFault(
                "The schema is too large at \"\(path)\": it can have \(Self.maximumDepth) levels and \(Self.maximumRules) rules."
            )
        }
        var rule = SchemaRule()
        for (name, value) in json.uniqueMembers where !Self.descriptions.contains(name) {
            let place = "\(path).\(excerpt(of: name))"
            let wrong = { (what: String) in RegistrationFault("\"\(place)\" \(what).") }
            switch name {
            case "type":
                let names = value.isArray ? value.elements.map { $0.string ?? "" } : [value.string ?? ""]
                for name in names {
                    guard let kind = SchemaRule.Kind(rawValue: name) else { throw wrong("is no type of JSON Schema") }
                    rule.kinds.insert(kind)
                }
                guard !names.isEmpty else { throw wrong("is empty") }
            case "properties":
                guard value.isObject else { throw wrong("must be an object") }
                for (name, value) in value.uniqueMembers.sorted(by: { $0.name < $1.name }) {
                    rule.places[name] = rule.properties.count
                    let inner = try self.rule(value, at: "\(place).\(excerpt(of: name))", depth: depth + 1)
                    rule.properties.append((name, inner))
                }
            case "required":
                for element in value.elements {
                    guard let name = element.string else { throw wrong("must be a list of names") }
                    rule.required.append(name)
                }
                guard value.isArray else { throw wrong("must be a list of names") }
            case "items": rule.elements = try others(value, at: place, depth: depth)
            case "additionalProperties": rule.others = try others(value, at: place, depth: depth)
            case "enum":
                guard value.isArray, (1...Self.maximumValues).contains(value.count) else {
                    throw wrong("must be a list of 1 to \(Self.maximumValues) values")
                }
                rule.values = Set(value.elements.map { JSONIdentity($0) })
            case "minimum", "maximum":
                guard let number = JSONDecimal(value) else { throw wrong("must be a number") }
                if name == "minimum" { rule.minimum = number } else { rule.maximum = number }
            case "minLength", "maxLength":
                guard let length = value.wholeNumber.flatMap({ Int(exactly: $0) }), length >= 0 else {
                    throw wrong("must be a whole number from 0")
                }
                if name == "minLength" { rule.minimumLength = length } else { rule.maximumLength = length }
            case "pattern":
                guard let text = value.string else { throw wrong("must be a string") }
                do throws(RegistrationFault) { rule.pattern = try SimplePattern(text) } catch {
                    throw wrong(error.description)
                }
            case "format":
                guard let format = SchemaRule.Format(rawValue: value.string ?? "") else {
                    let names = SchemaRule.Format.allCases.map(\.rawValue).joined(separator: ", ")
                    throw wrong("must be one of \(names)")
                }
                rule.format = format
            case "default": rule.defaultValue = value.jsonText
            default: throw wrong("is a keyword that is not supported")
            }
        }
        if let value = json["default"] {
            var check = SchemaCheck(steps: 100_000, places: 1)
            check.check(value, rule, at: "")
            if let fault = check.faults.first { throw RegistrationFault("\"\(path).default\" \(fault.reason).") }
        }
        return rule
    }

    /// Reads `true`, `false`, or a schema.
    private mutating func others(
        _ json: JSONView,
        at path: String,
        depth: Int
    ) throws(RegistrationFault) -> SchemaRule.Others {
        switch json.boolean {
        case true?: return .anything
        case false?: return .nothing
        case nil: return .values(try rule(json, at: path, depth: depth + 1))
        }
    }
}
