package import SkyrowJSON
package import SkyrowModel

// The JSON form of an operator on a field: `{"$op":"inc","$val":1}`.

extension FieldOperator {
    /// Reads the value of a field; nil for one that is no operator, and for one that sets an unknown value, which is
    /// ignored on input. `unset` is read as the operator and not as `null`.
    ///
    /// Throws `108 InvalidArgument` for an unknown operator, and for one with invalid members; `info.path` names the
    /// member, such as `tags.$val[1]`.
    package init?(_ json: JSONView, of field: String, rules: ReadingRules = .rpc) throws(SkyrowError) {
        guard json["$op"] != nil, json["$type"] == nil else { return nil }
        do throws(SkyrowError) {
            guard let change = try FieldOperator(operator: json, rules: rules, isInAll: false) else { return nil }
            self = change
        } catch {
            throw error.inOperator(on: field)
        }
    }

    private init?(operator json: JSONView, rules: ReadingRules, isInAll: Bool) throws(SkyrowError) {
        guard let name = json["$op"]?.string else {
            throw SkyrowError.invalidArgument("The member $op must be the name of an operator.").at(".$op")
        }
        let members = OperatorMembers(json, name)
        switch name {
        case "inc", "mul", "min", "max":
            try members.require(["$val"])
            guard let arithmetic = Arithmetic(rawValue: name) else { return nil }
            self.init(.compute(arithmetic, try members.operand(of: arithmetic, rules)))
        case "unset":
            try members.require([])
            self.init(.unset)
        case "set_on_insert":
            try members.require(["$val"])
            guard let value = try members.fieldValue(rules) else { return nil }
            self.init(.setOnInsert(value))
        case "push":
            try members.require(["$val"], optional: ["$at"])
            self.init(.push(.json(try members.elements()), at: try members.isAtStart() ? .first : .last))
        case "add_to_set":
            try members.require(["$val"])
            self.init(.addToSet(.json(try members.elements())))
        case "pull" where json["$where"] != nil:
            try members.require(["$where"])
            self.init(.pullWhere(try members.predicate()))
        case "pull":
            try members.require(["$val"])
            self.init(.pull(.json(try members.elements())))
        case "pop":
            try members.require(["$from"])
            self.init(.pop(try members.end()))
        case "set_at":
            try members.require(["$index", "$val"])
            self.init(.setElement(try members.index(), .json(try members.json(depth: 1))))
        case "set_path":
            try members.require(["$path", "$val"])
            let path = try members.path()
            if let (arithmetic, operand) = try members.innerOperator() {
                self.init(.computeMember(path, arithmetic, operand))
            } else {
                self.init(.setMember(path, try members.json(depth: path.steps.count)))
            }
        case "unset_path":
            try members.require(["$path"])
            self.init(.unsetMember(try members.path()))
        case "relate":
            try members.require(["$val"])
            self.init(.relate(try members.references()))
        case "unrelate":
            try members.require(["$val"])
            self.init(.unrelate(try members.references()))
        case "all" where !isInAll:
            try members.require(["$val"])
            let operators = try members.operators { json throws(SkyrowError) in
                try FieldOperator(operator: json, rules: rules, isInAll: true)
            }
            guard !operators.isEmpty else { return nil }
            self.init(.all(operators))
        case "all":
            throw SkyrowError.invalidArgument("\"all\" cannot be nested in \"all\".").at(".$op")
        default:
            throw SkyrowError.invalidArgument("The operator \"\(excerpt(of: name))\" does not exist.").at(".$op")
        }
    }
}

/// The members of an operator. Errors have the path of the member.
private struct OperatorMembers {
    let json: JSONView
    let name: String

    init(_ json: JSONView, _ name: String) {
        self.json = json
        self.name = name
    }

    /// Throws for a missing member, and for one that the operator does not have.
    func require(_ required: [StaticString], optional: [StaticString] = []) throws(SkyrowError) {
        for member in required where json[member] == nil {
            throw .invalidArgument("The operator \"\(name)\" must have the member \(member).")
        }
        let known = required + optional + ["$op"]
        for (key, _) in json.members where !known.contains(where: { key.equals($0) }) {
            throw SkyrowError.invalidArgument("The operator \"\(name)\" has no such member.")
                .at(".\(excerpt(of: key.string ?? ""))")
        }
    }

    /// The member `$val`; ``require(_:optional:)`` has seen it.
    private func value<Value>(_ read: (JSONView) throws(SkyrowError) -> Value) throws(SkyrowError) -> Value {
        guard let value = json["$val"] else {
            throw .invalidArgument("The operator \"\(name)\" must have the member $val.")
        }
        do throws(SkyrowError) { return try read(value) } catch { throw error.at(".$val") }
    }

    /// A number; for `min` and `max` also an instant or a string.
    func operand(of arithmetic: FieldOperator.Arithmetic, _ rules: ReadingRules) throws(SkyrowError) -> RecordValue {
        try value { json throws(SkyrowError) in
            let operand = try RecordValue(json, field: "$val")?.read(by: rules)
            switch (arithmetic, operand) {
            case (_, .integer), (_, .number), (.minimum, .string), (.maximum, .string), (.minimum, .datetime),
                (.maximum, .datetime):
                if let operand { return operand }
            default: break
            }
            throw .invalidArgument(
                arithmetic == .increment || arithmetic == .multiply
                    ? "The operator \"\(name)\" takes a number."
                    : "The operator \"\(name)\" takes a number, an instant or a string."
            )
        }
    }

    /// A value as a field has it; nil for an unknown one.
    func fieldValue(_ rules: ReadingRules) throws(SkyrowError) -> RecordValue? {
        try value { json throws(SkyrowError) in try RecordValue(json, field: "$val")?.read(by: rules) }
    }

    /// What is asked of each element.
    func predicate() throws(SkyrowError) -> RecordPredicate {
        guard let json = json["$where"] else {
            throw .invalidArgument("The operator \"\(name)\" must have the member $where.")
        }
        do throws(SkyrowError) { return try RecordPredicate(ofElements: json) } catch { throw error.at(".$where") }
    }

    /// An array as its elements, any other value as the one element.
    func elements() throws(SkyrowError) -> JSONText {
        try value { json throws(SkyrowError) in
            guard json.isArray else {
                try json.requireStorable("$val")
                try json.requireDepth(within: 1)
                let references = json.temporaryReferences.map { reference in
                    var reference = reference
                    reference.range = reference.range.lowerBound + 1..<reference.range.upperBound + 1
                    return reference
                }
                return JSONText(
                    validated: [UInt8(ascii: "[")] + json.source + [UInt8(ascii: "]")],
                    temporaryReferences: references
                )
            }
            guard json.count <= FieldOperator.Limits.elements else {
                throw .invalidArgument("An operator can have at most \(FieldOperator.Limits.elements) elements.")
            }
            for (place, element) in json.elements.enumerated() {
                do throws(SkyrowError) {
                    try element.requireStorable("$val")
                    try element.requireDepth(within: 1)
                } catch {
                    throw error.at(place)
                }
            }
            return try json.storableJSON("$val")
        }
    }

    /// References to members of a relation: an array, or one alone.
    func references() throws(SkyrowError) -> [RecordID] {
        func reference(_ json: JSONView) throws(SkyrowError) -> RecordID {
            if json.isObject, case .reference(let target)? = try RecordValue(json, field: "$val") { return target }
            throw SkyrowError.invalidArgument("The operator \"\(name)\" takes references.")
        }
        return try value { json throws(SkyrowError) in
            guard json.isArray else { return [try reference(json)] }
            guard json.count <= FieldOperator.Limits.elements else {
                throw .invalidArgument("An operator can have at most \(FieldOperator.Limits.elements) members.")
            }
            var references: [RecordID] = []
            references.reserveCapacity(json.count)
            for element in json.elements {
                do throws(SkyrowError) { references.append(try reference(element)) } catch {
                    throw error.at(references.count)
                }
            }
            return references
        }
    }

    /// Any JSON value, for a place inside this number of containers.
    func json(depth: Int) throws(SkyrowError) -> JSONText {
        try value { json throws(SkyrowError) in
            try json.requireDepth(within: depth)
            return try json.storableJSON("$val")
        }
    }

    /// `inc`, `mul`, `min` or `max` with a number, where `$val` is an operator.
    func innerOperator() throws(SkyrowError) -> (FieldOperator.Arithmetic, JSONText)? {
        try value { json throws(SkyrowError) in
            guard json.isObject, let name = json["$op"] else { return nil }
            guard let arithmetic = name.string.flatMap({ FieldOperator.Arithmetic(rawValue: $0) }) else {
                throw SkyrowError.invalidArgument("A member takes \"inc\", \"mul\", \"min\" or \"max\".").at(".$op")
            }
            let members = OperatorMembers(json, arithmetic.rawValue)
            try members.require(["$val"])
            let operand = try members.value { json throws(SkyrowError) in
                guard json.number != nil else {
                    throw .invalidArgument("In an object, \"\(arithmetic.rawValue)\" takes a number.")
                }
                return try json.storableJSON("$val")
            }
            return (arithmetic, operand)
        }
    }

    /// Whether the elements are put in front: `"$at": 0`.
    func isAtStart() throws(SkyrowError) -> Bool {
        guard let place = json["$at"] else { return false }
        guard place.wholeNumber == 0 else {
            throw SkyrowError.invalidArgument(
                "The only \"$at\" of \"push\" is 0, which inserts the elements at the front."
            ).at(".$at")
        }
        return true
    }

    func end() throws(SkyrowError) -> FieldOperator.ArrayEnd {
        switch json["$from"]?.string {
        case "first": return .first
        case "last": return .last
        default: throw SkyrowError.invalidArgument("\"pop\" takes \"first\" or \"last\".").at(".$from")
        }
    }

    func index() throws(SkyrowError) -> Int64 {
        guard let index = json["$index"]?.wholeNumber, index >= 0 else {
            throw SkyrowError.invalidArgument("The index of an element must be a whole number from 0.").at(".$index")
        }
        return index
    }

    func path() throws(SkyrowError) -> MemberPath {
        do throws(SkyrowError) {
            guard let text = json["$path"]?.string else {
                throw SkyrowError.invalidArgument("A path must be a string such as \"stats.wins\".")
            }
            return try MemberPath(text)
        } catch {
            throw error.at(".$path")
        }
    }

    /// The operators of `all`.
    func operators(_ read: (JSONView) throws(SkyrowError) -> FieldOperator?) throws(SkyrowError) -> [FieldOperator] {
        try value { json throws(SkyrowError) in
            guard json.isArray, (1...FieldOperator.Limits.all).contains(json.count) else {
                throw .invalidArgument("\"all\" takes an array of 1 to \(FieldOperator.Limits.all) operators.")
            }
            var operators: [FieldOperator] = []
            var type: FieldType?
            for (place, element) in json.elements.enumerated() {
                do throws(SkyrowError) {
                    guard element.isObject else { throw SkyrowError.invalidArgument("\"all\" takes operators.") }
                    guard let step = try read(element) else { continue }
                    type = try step.joinedType(with: type)
                    operators.append(step)
                } catch {
                    throw error.at(place)
                }
            }
            return operators
        }
    }
}

extension FieldOperator {
    /// The type of a field that takes this operator and those before it; throws `108 InvalidArgument` when none does.
    fileprivate func joinedType(with type: FieldType?) throws(SkyrowError) -> FieldType? {
        switch (type, fieldType) {
        case (let known, nil): return known
        case (nil, let own): return own
        case (.integer, .number), (.number, .integer): return .number
        case (let known?, let own?) where known == own: return known
        default: throw .invalidArgument("This operator cannot be combined with those before it.")
        }
    }
}

extension JSONView {
    /// Throws for a value that would be too deep inside of a number of containers.
    fileprivate func requireDepth(within outer: Int) throws(SkyrowError) {
        guard outer + depth <= FieldOperator.Limits.depth else {
            throw .invalidArgument("Arrays and objects can be nested at most \(FieldOperator.Limits.depth) deep.")
        }
    }
}

extension JSONWriter {
    /// An operator, as `record:save` takes it.
    package func fieldOperator(_ change: FieldOperator) {
        beginObject()
        member("$op", change.name)
        switch change.kind {
        case .compute(_, let operand), .setOnInsert(let operand):
            key("$val")
            value(operand)
        case .unset:
            break
        case .push(let elements, let end):
            key("$val")
            value(elements)
            if end == .first { member("$at", 0) }
        case .addToSet(let elements), .pull(let elements):
            key("$val")
            value(elements)
        case .pullWhere(let predicate):
            key("$where")
            self.predicate(predicate)
        case .pop(let end):
            member("$from", end == .first ? "first" : "last")
        case .setElement(let index, let element):
            member("$index", index)
            key("$val")
            value(element)
        case .setMember(let path, let member):
            self.member("$path", path.description)
            key("$val")
            json(member)
        case .computeMember(let path, let arithmetic, let operand):
            member("$path", path.description)
            beginObject("$val")
            member("$op", arithmetic.rawValue)
            key("$val")
            json(operand)
            endObject()
        case .unsetMember(let path):
            member("$path", path.description)
        case .relate(let members), .unrelate(let members):
            beginArray("$val")
            for member in members { value(.reference(member)) }
            endArray()
        case .all(let operators):
            beginArray("$val")
            for step in operators { fieldOperator(step) }
            endArray()
        }
        endObject()
    }
}
