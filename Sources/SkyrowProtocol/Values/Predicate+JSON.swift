package import SkyrowJSON
package import SkyrowModel

extension RecordPredicate {
    /// Reads `["and", …]`, `["not", …]`, `["eq", {"$type":"keypath","$val":"stars"}, 2]`
    /// (Documentation/Protocol/predicates.md).
    ///
    /// Throws `108 InvalidArgument` for what is outside of the grammar or beyond `WireLimits`, `111 NotSupported` for
    /// unknown functions, and `120 RecordQueryInvalid` for a malformed key path.
    /// `info.path` names the element, the first one in reading order.
    package init(_ json: JSONView) throws(SkyrowError) {
        var budget = WireLimits.predicateCount
        do throws(SkyrowError) { try self.init(json, budget: &budget) } catch { throw error.at("predicate") }
    }

    /// The same where it is asked of the elements of an array; `info.path` begins inside of it.
    init(ofElements json: JSONView) throws(SkyrowError) {
        var budget = WireLimits.predicateCount
        try self.init(json, budget: &budget)
    }

    fileprivate init(_ json: JSONView, budget: inout Int) throws(SkyrowError) {
        budget -= 1
        guard budget >= 0 else {
            throw malformed("A predicate can have at most \(WireLimits.predicateCount) conditions.")
        }
        guard json.isArray, json.count > 0 else {
            throw malformed("A predicate must be an array that begins with an operator.")
        }
        var rest = json.elements
        guard let name = rest.next()?.string else {
            throw malformed("A predicate must begin with the name of an operator.").at(0)
        }
        if name == "func" {
            self = try RecordPredicate(userRelation: json)
            return
        }
        let comparison = ComparisonOperator(rawValue: name)
        guard let row = comparison?.row ?? OperatorTable.row(named: name) else {
            throw malformed("The operator \"\(excerpt(of: name))\" does not exist.").at(0)
        }
        var operands = OperandReader(rest, of: row)
        guard row.arity.contains(json.count - 1) else { throw operands.misuse }
        func part() throws(SkyrowError) -> RecordPredicate {
            try operands.next { json throws(SkyrowError) in try RecordPredicate(json, budget: &budget) }
        }
        switch row.operands {
        case .joined, .predicates:
            var parts: [RecordPredicate] = []
            parts.reserveCapacity(json.count - 1)
            for _ in 1..<json.count { parts.append(try part()) }
            self = name == "and" ? .and(parts) : name == "or" ? .or(parts) : .none(parts)
        case .predicate:
            self = .not(try part())
        case .comparison, .pattern, .text, .element, .membership, .list, .flag:
            guard let comparison else { throw operands.misuse }
            let (left, right) = (try operands.operand(), try operands.operand())
            if comparison == .in { try checkMembership(left, right) }
            self = .comparison(comparison, left, right)
        case .range:
            self = .between(try operands.operand(), try operands.literal(), try operands.literal())
        case .words:
            self = .match(try operands.operand(), try operands.text("The words of \"match\" must be a string."))
        case .regex:
            let subject = try operands.operand()
            let pattern = try operands.text("A regular expression must be a string.")
            let flag = json.count == 4 ? try operands.next() : nil
            guard flag?.equals("i") ?? true else {
                throw malformed("The only option of a regular expression is \"i\".").at(3)
            }
            self = .regex(subject, pattern, ignoresCase: flag != nil)
        case .query:
            let subject = try operands.operand()
            let query = try operands.next { json throws(SkyrowError) in try Subquery(json, budget: &budget) }
            self = .found(subject, by: query, isNegated: name == "not_in_query")
        case .owner:
            self = .related(
                to: try operands.owner(),
                try operands.next { json throws(SkyrowError) in try FieldPath(key: json) }
            )
        case .elements:
            guard case .keyPath(let path) = try operands.operand() else { throw operands.misuse.at(1) }
            self = .elements(path, name == "any" ? .any : .all, try part())
        case .near, .box, .polygon:
            self = try RecordPredicate(place: row.operands, &operands, count: json.count - 1)
        }
    }
}

/// The operands of an operator, one after the other; errors have the place of the operand.
struct OperandReader {
    private var rest: JSONView.Elements
    private let row: QueryOperator
    private var place = 0

    fileprivate init(_ rest: JSONView.Elements, of row: QueryOperator) {
        self.rest = rest
        self.row = row
    }

    /// `"match" takes a key path and words.`
    var misuse: SkyrowError { malformed(row.misuse) }

    mutating func next() throws(SkyrowError) -> JSONView {
        place += 1
        guard let json = rest.next() else { throw misuse }
        return json
    }

    mutating func next<Value>(_ read: (JSONView) throws(SkyrowError) -> Value) throws(SkyrowError) -> Value {
        let json = try next()
        do throws(SkyrowError) { return try read(json) } catch { throw error.at(place) }
    }

    fileprivate mutating func operand() throws(SkyrowError) -> Operand {
        let list = row.takesList ? row.name : nil
        return try next { json throws(SkyrowError) in try Operand(json, list) }
    }

    fileprivate mutating func literal() throws(SkyrowError) -> RecordValue {
        try next { json throws(SkyrowError) in try RecordValue(literal: json) }
    }

    fileprivate mutating func text(_ message: String) throws(SkyrowError) -> String {
        guard let text = try next().string else { throw malformed(message).at(place) }
        return text
    }

    /// The record whose relation is searched for members. No value is a reference to a role, so that has its own reading.
    fileprivate mutating func owner() throws(SkyrowError) -> RecordID {
        let misuse = misuse
        return try next { json throws(SkyrowError) in
            if json.isObject, json["$type"]?.equals("ref") == true, let id = json["$id"],
                let role = try? RecordID(json: id, isReadable: true), role.type == .role
            {
                return role
            }
            guard json.isObject, case .reference(let record) = try RecordValue(literal: json) else { throw misuse }
            return record
        }
    }
}

extension RecordPredicate {
    /// `["func", "userRelation", keypath, {"$type": "relation", "$name": "_friend", "$direction": "mutual"}]`, the one function
    /// that is a predicate.
    fileprivate init(userRelation json: JSONView) throws(SkyrowError) {
        var rest = json.elements
        _ = rest.next()
        guard rest.next()?.equals("userRelation") == true else {
            throw malformed("A function can only be used in place of a key path.").at(0)
        }
        guard json.count == 4, let subject = rest.next(), let relation = rest.next() else {
            throw malformed("\"userRelation\" takes a key path and a relation.")
        }
        let operand: Operand
        do throws(SkyrowError) { operand = try Operand(subject, nil) } catch { throw error.at(2) }
        guard case .keyPath(let path) = operand else {
            throw malformed("\"userRelation\" takes a key path and a relation.").at(2)
        }
        guard relation.isObject, relation["$type"]?.equals("relation") == true, let name = relation["$name"]?.string
        else {
            throw malformed("A relation must have the form {\"$type\": \"relation\", \"$name\": \"_friend\"}.").at(3)
        }
        guard let kind = UserRelation(relationName: name) else {
            throw SkyrowError(.notSupported, "The relation must be friend or follow.").at(".$name").at(3)
        }
        let direction = relation["$direction"].map { $0.string.flatMap(RelationDirection.init(rawValue:)) }
        guard let direction = direction ?? .mutual else {
            throw malformed("The direction must be outward, inward or mutual.").at(".$direction").at(3)
        }
        self = .userRelation(path, kind, direction)
    }
}

extension Subquery {
    private static let members = ["record_type", "predicate", "key", "sort", "limit"]

    /// `{"record_type": "person", "predicate": …, "key": "city", "sort": …, "limit": 10}`
    fileprivate init(_ json: JSONView, budget: inout Int) throws(SkyrowError) {
        guard json.isObject else { throw malformed("A query in a predicate must be an object.") }
        for (name, _) in json.members where !Self.members.contains(name.string ?? "") {
            throw malformed(
                "A query in a predicate can only have the members record_type, predicate, key, sort and limit."
            )
            .at(".\(excerpt(of: name.string ?? ""))")
        }
        guard let name = json["record_type"]?.string else {
            throw malformed("A query in a predicate must have a record type.").at(".record_type")
        }
        do throws(SkyrowError) { self.init(type: try RecordTypeName(name)) } catch { throw error.at(".record_type") }
        if let predicate = json["predicate"], !predicate.isNull {
            do throws(SkyrowError) { self.predicate = try RecordPredicate(predicate, budget: &budget) } catch {
                throw error.at(".predicate")
            }
        }
        if let key = json["key"], !key.isNull {
            do throws(SkyrowError) { self.key = try FieldPath(key: key) } catch { throw error.at(".key") }
        }
        if let keys = json["sort"], !keys.isNull {
            do throws(SkyrowError) { sort = try Self.sortKeys(keys) } catch { throw error.at(".sort") }
        }
        if let number = json["limit"], !number.isNull {
            guard let limit = number.wholeNumber, 1...Int64(Subquery.maximumLimit) ~= limit else {
                throw malformed("The limit of a query in a predicate must be 1 to \(Subquery.maximumLimit).").at(
                    ".limit"
                )
            }
            self.limit = Int(limit)
        }
    }

    private static func sortKeys(_ json: JSONView) throws(SkyrowError) -> [SortKey] {
        guard json.isArray, json.count <= maximumKeys else {
            throw malformed("A query in a predicate can have at most \(maximumKeys) sort keys.")
        }
        var keys: [SortKey] = []
        for element in json.elements {
            do throws(SkyrowError) { keys.append(try SortKey(element)) } catch { throw error.at(keys.count) }
        }
        return keys
    }
}

extension FieldPath {
    /// `"city"` or `{"$type":"keypath","$val":"city"}`
    fileprivate init(key json: JSONView) throws(SkyrowError) {
        if let name = json.string {
            try self.init(name)
        } else if json.isObject, let path = try FieldPath(json: json) {
            self = path
        } else {
            throw malformed("The key of a query must be a name or a key path.")
        }
    }
}

/// `in` has three forms: a key path in a list, a string in a key path of a json field, and a location in one of a geometry.
private func checkMembership(_ left: Operand, _ right: Operand) throws(SkyrowError) {
    switch (left, right) {
    case (.keyPath, .list), (.function, .list), (.value(.string), .keyPath), (.value(.location), .keyPath): return
    case (.keyPath, _), (.function, _), (.value(.string), _), (.value(.location), _): throw wrongMembership.at(2)
    case (.value, _), (.list, _): throw wrongMembership.at(1)
    }
}

private let wrongMembership = malformed(
    "\"in\" takes a key path and an array, a string and the key path of a json field, or a location and that of a geometry."
)

private func malformed(_ message: String) -> SkyrowError {
    .invalidArgument(message, "predicate")
}

extension Operand {
    /// - Parameter list: the name of an operator that takes a list of literals.
    fileprivate init(_ json: JSONView, _ list: String?) throws(SkyrowError) {
        switch json.kind {
        case .array:
            if let first = json.firstElement, first.equals("func") {
                let named = try FunctionOfPath(json)
                self = .function(named.function, named.path)
            } else if let list {
                self = .list(try Self.values(of: json, list))
            } else {
                self = .value(try RecordValue(literal: json))
            }
        case .object:
            if !json.isJSONLiteral, let path = try FieldPath(json: json) {
                self = .keyPath(path)
            } else {
                self = .value(try RecordValue(literal: json))
            }
        case .null, .false, .true, .integer, .number, .string, .escapedString:
            self = .value(try RecordValue(literal: json))
        }
    }

    private static func values(of json: JSONView, _ name: String) throws(SkyrowError) -> [RecordValue] {
        guard json.count <= WireLimits.listCount else {
            throw malformed("\"\(name)\" takes at most \(WireLimits.listCount) values.")
        }
        var values: [RecordValue] = []
        values.reserveCapacity(json.count)
        for element in json.elements {
            do throws(SkyrowError) { values.append(try RecordValue(literal: element)) } catch {
                throw error.at(values.count)
            }
        }
        return values
    }
}

/// `["func", "fold", keypath]`, `["func", "distance", keypath, geo]`, or `["func", "collate", keypath, "sv"]`
struct FunctionOfPath {
    var function: FieldFunction
    var path: FieldPath

    init(_ json: JSONView) throws(SkyrowError) {
        var rest = json.elements.dropFirst().makeIterator()
        guard let name = rest.next()?.string, let argument = Self.arguments[name] else {
            throw SkyrowError(.notSupported, "Queries have no function of this name.").at(1)
        }
        let form: SkyrowError = .invalidArgument("The function \"\(name)\" takes a key path\(argument).")
        guard let operand = rest.next(), operand.isObject, !argument.isEmpty || json.count == 3 else {
            throw form.at(2)
        }
        do throws(SkyrowError) {
            guard let path = try FieldPath(json: operand) else { throw form }
            self.path = path
        } catch {
            throw error.at(2)
        }
        switch name {
        case "fold": function = .fold
        case "size": function = .size
        case "rank": function = .rank
        default:
            guard json.count == 4, let value = rest.next() else { throw form.at(3) }
            if name == "collate" {
                guard let language = value.string else { throw form.at(3) }
                function = .collate(language)
            } else {
                do throws(SkyrowError) { function = .distance(try Location(operand: value)) } catch {
                    throw error.at(3)
                }
            }
        }
    }

    /// What each function takes beside a key path.
    private static let arguments = [
        "fold": "", "size": "", "rank": "", "distance": " and a location", "collate": " and a language",
    ]
}

extension JSONView {
    /// Whether it is `{"$type":"json","$val":…}`: a literal that could be read as something else.
    fileprivate var isJSONLiteral: Bool { self["$type"]?.equals("json") ?? false }
}

extension RecordValue {
    /// A literal of a query: a value that compares with a column.
    fileprivate init(literal json: JSONView) throws(SkyrowError) {
        if json.isObject, json.isJSONLiteral {
            guard let value = json["$val"] else { throw malformed("A JSON literal must have the member $val.") }
            self = .json(value.jsonText)
            return
        }
        switch try RecordValue(json, field: "predicate") {
        case .sequence, nil: throw malformed("This typed value cannot be used in a comparison.")
        case let value?: self = value
        }
    }
}

extension FieldPath {
    /// Reads `{"$type":"keypath","$val":"category.name"}`; nil for other objects.
    ///
    /// As in Skygear, any object whose `$val` is a non-empty string is a key path.
    init?(json: JSONView) throws(SkyrowError) {
        guard let text = json["$val"]?.string, !text.isEmpty else {
            if json["$type"]?.equals("keypath") ?? false {
                throw SkyrowError(.recordQueryInvalid, "A key path must have the member $val with its names.")
            }
            return nil
        }
        try self.init(text)
        guard let name = json["$as"] else { return }
        guard let type = name.string.flatMap({ JSONValueType(rawValue: $0) }) else {
            throw SkyrowError(
                .recordQueryInvalid,
                "The member $as of a key path must be string, number, boolean or datetime."
            )
        }
        jsonType = type
    }
}

extension JSONWriter {
    /// A predicate in the grammar that `record:query` takes.
    package func predicate(_ predicate: RecordPredicate) {
        switch predicate {
        case .and(let parts): operation("and") { for part in parts { self.predicate(part) } }
        case .or(let parts): operation("or") { for part in parts { self.predicate(part) } }
        case .not(let part): operation("not") { self.predicate(part) }
        case .none(let parts): operation("none") { for part in parts { self.predicate(part) } }
        case .between(let subject, let least, let most):
            operation("between", subject) {
                literal(least)
                literal(most)
            }
        case .match(let subject, let words): operation("match", subject) { string(words) }
        case .regex(let subject, let pattern, let ignoresCase):
            operation("regex", subject) {
                string(pattern)
                if ignoresCase { string("i") }
            }
        case .found(let subject, let query, let isNegated):
            operation(isNegated ? "not_in_query" : "in_query", subject) { subquery(query) }
        case .elements(let path, let quantifier, let part):
            operation(quantifier.rawValue, .keyPath(path)) { self.predicate(part) }
        case .userRelation(let path, let relation, let direction):
            operation("func") {
                string("userRelation")
                keyPath(path)
                beginObject()
                member("$type", "relation")
                member("$name", "_" + relation.rawValue)
                member("$direction", direction.rawValue)
                endObject()
            }
        case .related(let owner, let path):
            operation("related_to", .value(.reference(owner))) { string(path.description) }
        case .comparison(let comparison, let left, let right): operation(comparison.rawValue, left) { operand(right) }
        case .place(let path, let condition): operation(condition.name, .keyPath(path)) { place(condition) }
        }
    }

    private func operation(_ name: String, _ first: Operand? = nil, _ rest: () -> Void) {
        beginArray()
        string(name)
        if let first { operand(first) }
        rest()
        endArray()
    }

    private func subquery(_ query: Subquery) {
        beginObject()
        recordType(query.type, matching: query.predicate)
        if let path = query.key {
            key("key")
            keyPath(path)
        }
        sort(query.sort)
        if let limit = query.limit { member("limit", limit) }
        endObject()
    }

    private func operand(_ operand: Operand) {
        switch operand {
        case .keyPath(let path): keyPath(path)
        case .function(let function, let path): keyPath(path, function)
        case .value(let value): literal(value)
        case .list(let values):
            beginArray()
            for value in values { literal(value) }
            endArray()
        }
    }

    /// A literal; arrays and objects are marked, since they could be read as a list, a function or a key path.
    private func literal(_ value: RecordValue) {
        guard case .json = value else { return self.value(value) }
        beginObject()
        member("$type", "json")
        key("$val")
        self.value(value)
        endObject()
    }

    /// A key path, or a function of one.
    func keyPath(_ path: FieldPath, _ function: FieldFunction?) {
        guard let function else { return keyPath(path) }
        beginArray()
        string("func")
        string(function.name)
        keyPath(path)
        switch function {
        case .fold, .size, .rank: break
        case .distance(let center): location(center)
        case .collate(let language): string(language)
        }
        endArray()
    }

    func keyPath(_ path: FieldPath) {
        beginObject()
        member("$type", "keypath")
        member("$val", path.description)
        if let type = path.jsonType { member("$as", type.rawValue) }
        endObject()
    }
}
