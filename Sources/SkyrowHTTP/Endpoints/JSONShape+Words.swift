import SkyrowProtocol

extension JSONShape {
    /// The shape in words of Markdown, with links to the pages of Documentation/Protocol: "array of strings".
    func words(many: Bool = false) -> String {
        let ending = many ? "s" : ""
        return switch self {
        case .any: many ? "values" : "any value"
        case .boolean: "boolean" + ending
        case .integer(let minimum?, let maximum?) where minimum == maximum: "`\(minimum)`"
        case .integer: "integer" + ending
        case .string: "string" + ending
        case .dateTime: "instant" + ending
        case .oneOfStrings, .either, .nullable: alternatives(many: many).listed
        case .array(.named(.accessEntry), _, _): "[access list\(ending)](access.md#access-lists)"
        case .array(let element, _, _): "array\(ending) of \(element.words(many: true))"
        case .tuple: "array" + ending
        case .object([], nil): "empty object\(ending)"
        case .object(let members, nil): "object\(ending) with " + members.map { "`\($0.name)`" }.joined(separator: ", ")
        case .object([], let others?) where others != .any: "object\(ending) of \(others.words(many: true))"
        case .object: "object" + ending
        case .named(let name): name.words(many: many)
        }
    }

    private func alternatives(many: Bool) -> [String] {
        switch self {
        case .oneOfStrings(let values): values.map { "`\($0)`" }
        case .either(let shapes): shapes.flatMap { $0.alternatives(many: many) }
        case .nullable(let shape): shape.alternatives(many: many) + ["null"]
        default: [words(many: many)]
        }
    }

    /// The bounds of a value: "up to 100, each up to 64 bytes"; nil where there are none.
    var bounds: String? {
        switch self {
        case .integer(let minimum?, let maximum?) where minimum == maximum: nil
        case .integer(let minimum, let maximum?): "\(grouped(minimum ?? 0)) to \(grouped(maximum))"
        case .integer(let minimum?, nil) where minimum > 0: "from \(grouped(minimum))"
        case .string(let maximum?): "up to \(grouped(maximum)) bytes"
        case .dateTime: "RFC 3339"
        case .array(let element, let minimum, let maximum):
            [
                maximum.map { minimum > 0 ? "\(minimum) to \(grouped($0))" : "up to \(grouped($0))" },
                element.bounds.map { "each \($0)" },
            ].compactMap(\.self).joinedUnlessEmpty
        case .nullable(let shape): shape.bounds
        default: nil
        }
    }
}

extension JSONShapeName {
    fileprivate func words(many: Bool) -> String {
        let ending = many ? "s" : ""
        return switch self {
        case .recordID: "[record id\(ending)](values.md#the-form-of-a-record)"
        case .value: "[value\(ending)](values.md#values)"
        case .accessEntry: many ? "[access entries](access.md#access-lists)" : "[access entry](access.md#access-lists)"
        case .record, .recordDraft: "[record\(ending)](values.md#the-form-of-a-record)"
        case .entryError: "[error\(ending)](errors.md#error-codes)"
        case .recordEntry: JSONShape.either([.named(.record), .named(.entryError)]).words(many: many)
        case .deletedEntry: "[deleted record\(ending)](records.md#recorddelete)"
        case .keyPath: "[key path\(ending)](predicates.md#operators)"
        case .predicate: "[predicate\(ending)](predicates.md)"
        case .authResult: "[account\(ending) with an access token](accounts.md#the-result-of-a-log-in)"
        case .schema: "[schema\(ending)](schema.md#schemafetch)"
        case .index: "[index\(many ? "es" : "")](indexes.md#kinds-and-states)"
        case .role: "[role\(ending)](roles-and-groups.md#roles)"
        case .relatedUser: "[user\(ending)](relations.md#relationadd)"
        case .status: #"`{"status": "OK"}`"#
        }
    }
}

extension [String] {
    /// "a, b or c", each once.
    fileprivate var listed: String {
        var seen: Set<String> = []
        let values = filter { seen.insert($0).inserted }
        guard let last = values.last, values.count > 1 else { return values.joined() }
        return values.dropLast().joined(separator: ", ") + " or " + last
    }

    fileprivate var joinedUnlessEmpty: String? { isEmpty ? nil : joined(separator: ", ") }
}

/// A number as the manual writes it: 1000, 10,000, 1,000,000.
private func grouped(_ number: Int) -> String {
    let digits = String(number)
    guard digits.count > 4 else { return digits }
    var text = ""
    for (place, digit) in digits.enumerated() {
        if place > 0, (digits.count - place).isMultiple(of: 3) { text += "," }
        text.append(digit)
    }
    return text
}
