package import SkyrowJSON
package import SkyrowModel

/// The rules of a function's arguments: a part of JSON Schema.
///
/// ```swift
/// let schema = try ParameterSchema(json)   // {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
/// try schema.check(arguments)              // {"city": 1}: 108, ["city"]
/// ```
///
/// A value with `$type` is an object like any other.
package struct ParameterSchema: Hashable, Sendable {
    /// The schema in canonical form, with members sorted by name.
    package let text: JSONText
    let root: SchemaRule

    /// Upper bound on the bytes of a schema.
    package static let maximumBytes = 65_536
    /// Upper bound on the steps that the patterns of a schema take for the arguments of a call.
    private static let maximumSteps = 1_000_000
    /// Places that an error names at most.
    private static let maximumPlaces = 10

    /// Throws what is wrong with the schema.
    package init(_ json: JSONView) throws(RegistrationFault) {
        guard json.source.count <= Self.maximumBytes else {
            throw RegistrationFault("\"params\" has more than \(Self.maximumBytes) bytes.")
        }
        var reader = SchemaReader()
        root = try reader.rule(json, at: "params", depth: 1)
        let writer = JSONWriter()
        writer.canonical(json)
        text = writer.jsonText
    }

    /// Throws `108 InvalidArgument`, with the paths of what is wrong in `info.arguments`.
    ///
    /// - Parameter arguments: nil for none, which is checked as an object without members.
    package func check(_ arguments: JSONView?) throws(SkyrowError) {
        guard let arguments else {
            guard let empty = try? JSONDocument(Array("{}".utf8)) else { return }
            return try empty.withRoot { json throws(SkyrowError) in try check(json) }
        }
        var run = SchemaCheck(steps: Self.maximumSteps, places: Self.maximumPlaces)
        run.check(arguments, root, at: "")
        guard let first = run.faults.first else { return }
        let name = { (path: String) in path.isEmpty ? "args" : path }
        throw SkyrowError(
            .invalidArgument,
            "\"\(name(first.path))\" \(first.reason).",
            info: ["arguments": .list(run.faults.map { .string(name($0.path)) })]
        )
    }

    /// Returns the arguments with the defaults of members that are missing; nil if no default applies.
    ///
    /// - Parameter arguments: nil for none, which counts as an object without members.
    package func applyingDefaults(_ arguments: JSONView?) -> JSONText? {
        guard let arguments else {
            guard let empty = try? JSONDocument(Array("{}".utf8)) else { return nil }
            return empty.withRoot { applyingDefaults($0) }
        }
        guard root.addsDefaults(to: arguments) else { return nil }
        let writer = JSONWriter()
        root.write(arguments, to: writer)
        return writer.jsonText
    }

    package static func == (a: ParameterSchema, b: ParameterSchema) -> Bool { a.text == b.text }

    package func hash(into hasher: inout Hasher) { hasher.combine(text) }
}

/// The rules of a value.
struct SchemaRule: Sendable {
    enum Kind: String, Hashable, Sendable, CaseIterable {
        case null, boolean, integer, number, string, array, object
    }

    enum Format: String, Hashable, Sendable, CaseIterable {
        case dateTime = "date-time"
        case date, email, uri, uuid
    }

    /// What members without a rule may be.
    indirect enum Others: Sendable {
        case anything
        case nothing
        case values(SchemaRule)
    }

    /// Empty for any kind.
    var kinds: Set<Kind> = []
    var values: Set<JSONIdentity>?
    var minimum: JSONDecimal?
    var maximum: JSONDecimal?
    var minimumLength = 0
    var maximumLength = Int.max
    var pattern: SimplePattern?
    var format: Format?
    /// In the order of names.
    var properties: [(name: String, rule: SchemaRule)] = []
    /// The place of each name in ``properties``.
    var places: [String: Int] = [:]
    var required: [String] = []
    var others = Others.anything
    var elements: Others = .anything
    var defaultValue: JSONText?

    func rule(of member: String) -> SchemaRule? { places[member].map { properties[$0].rule } }

    /// The rule of members without a rule; nil if they may be anything or must not be there.
    private var ruleOfOthers: SchemaRule? { if case .values(let rule) = others { rule } else { nil } }
    private var ruleOfElements: SchemaRule? { if case .values(let rule) = elements { rule } else { nil } }

    // MARK: Defaults

    /// Whether a member is missing, at any depth, that has a default.
    func addsDefaults(to json: JSONView) -> Bool {
        if json.isArray {
            guard let rule = ruleOfElements else { return false }
            return json.elements.contains { rule.addsDefaults(to: $0) }
        }
        guard json.isObject else { return false }
        let members = json.uniqueMembers
        let names = Set(members.map(\.name))
        return properties.contains { $0.rule.defaultValue != nil && !names.contains($0.name) }
            || members.contains { (rule(of: $0.name) ?? ruleOfOthers)?.addsDefaults(to: $0.value) ?? false }
    }

    /// Writes a value with the defaults of missing members.
    func write(_ json: JSONView, to writer: JSONWriter) {
        if json.isArray, let rule = ruleOfElements {
            writer.beginArray()
            for element in json.elements { rule.write(element, to: writer) }
            writer.endArray()
        } else if json.isObject {
            writer.beginObject()
            var names: Set<String> = []
            for (name, value) in json.uniqueMembers {
                names.insert(name)
                writer.key(name)
                if let rule = rule(of: name) ?? ruleOfOthers {
                    rule.write(value, to: writer)
                } else {
                    writer.json(validated: value.source)
                }
            }
            for (name, rule) in properties where !names.contains(name) {
                guard let value = rule.defaultValue else { continue }
                writer.key(name)
                writer.json(value)
            }
            writer.endObject()
        } else {
            writer.json(validated: json.source)
        }
    }
}

/// A check of arguments, with what is wrong.
struct SchemaCheck {
    private(set) var faults: [(path: String, reason: String)] = []
    private var steps: Int
    private let places: Int

    init(steps: Int, places: Int) {
        self.steps = steps
        self.places = places
    }

    mutating func check(_ json: JSONView, _ rule: SchemaRule, at path: String) {
        guard faults.count < places else { return }
        guard rule.kinds.isEmpty || rule.kinds.contains(where: { json.isOf($0) }) else {
            let names = rule.kinds.map(\.rawValue).sorted().joined(separator: " or ")
            return fail(path, "must be of the type \(names)")
        }
        if let values = rule.values, !values.contains(JSONIdentity(json)) {
            return fail(path, "must be one of the values of its enum")
        }
        if let number = JSONDecimal(json) {
            check(number, rule, at: path)
        } else if let text = json.string {
            check(text, rule, at: path)
        } else if json.isArray {
            switch rule.elements {
            case .anything: break
            case .nothing: if json.count > 0 { fail(path, "must be empty") }
            case .values(let rule):
                for (place, element) in json.elements.enumerated() where faults.count < places {
                    check(element, rule, at: "\(path)[\(place)]")
                }
            }
        } else if json.isObject {
            check(members: json, rule, at: path)
        }
    }

    private mutating func fail(_ path: String, _ reason: String) {
        if faults.count < places { faults.append((path, reason)) }
    }

    private mutating func check(_ number: JSONDecimal, _ rule: SchemaRule, at path: String) {
        if let minimum = rule.minimum, number < minimum { fail(path, "is less than its minimum") }
        if let maximum = rule.maximum, number > maximum { fail(path, "is greater than its maximum") }
    }

    private mutating func check(_ text: String, _ rule: SchemaRule, at path: String) {
        if rule.minimumLength > 0 || rule.maximumLength < .max {
            let length = text.unicodeScalars.count
            if length < rule.minimumLength { fail(path, "has fewer than \(rule.minimumLength) characters") }
            if length > rule.maximumLength { return fail(path, "has more than \(rule.maximumLength) characters") }
        }
        if let pattern = rule.pattern, !pattern.matches(text, within: &steps) {
            fail(path, steps < 0 ? "is too long to be compared with its pattern" : "does not match its pattern")
        }
        if let format = rule.format, !format.fits(text) { fail(path, "is no \(format.rawValue)") }
    }

    private mutating func check(members json: JSONView, _ rule: SchemaRule, at path: String) {
        let prefix = path.isEmpty ? "" : path + "."
        let members = json.uniqueMembers
        let names = Set(members.map(\.name))
        for name in rule.required where !names.contains(name) && rule.rule(of: name)?.defaultValue == nil {
            fail(prefix + name, "is missing")
        }
        for (name, value) in members where faults.count < places {
            let path = prefix + excerpt(of: name)
            if let rule = rule.rule(of: name) {
                check(value, rule, at: path)
                continue
            }
            switch rule.others {
            case .anything: break
            case .nothing: fail(path, "is unknown")
            case .values(let rule): check(value, rule, at: path)
            }
        }
    }
}

extension JSONView {
    fileprivate func isOf(_ kind: SchemaRule.Kind) -> Bool {
        switch kind {
        case .null: isNull
        case .boolean: boolean != nil
        case .integer: self.kind == .integer || wholeNumber != nil
        case .number: self.kind == .integer || self.kind == .number
        case .string: isString
        case .array: isArray
        case .object: isObject
        }
    }
}

extension SchemaRule.Format {
    fileprivate func fits(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        switch self {
        case .dateTime: return (try? Timestamp(rfc3339: text)) != nil && bytes.last != UInt8(ascii: "y")
        case .date: return bytes.count == 10 && (try? Timestamp(rfc3339: text + "T00:00:00Z")) != nil
        case .email:
            let parts = bytes.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
            return parts.count == 2 && parts.allSatisfy { !$0.isEmpty && $0.allSatisfy { $0 > 0x20 && $0 != 0x7F } }
        case .uri:
            let scheme = bytes.prefix { $0 != UInt8(ascii: ":") }
            return !scheme.isEmpty && scheme.count + 1 < bytes.count && scheme[0].isASCIILetter
                && scheme.allSatisfy { $0.isASCIILetter || (0x30...0x39).contains($0) || "+-.".utf8.contains($0) }
                && bytes.allSatisfy { $0 > 0x20 && $0 < 0x7F }
        case .uuid:
            return bytes.count == 36
                && zip(0..., bytes).allSatisfy { place, byte in
                    [8, 13, 18, 23].contains(place) ? byte == UInt8(ascii: "-") : Hexadecimal.value(byte) != nil
                }
        }
    }
}

extension UInt8 {
    fileprivate var isASCIILetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20) }
}
