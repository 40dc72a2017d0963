package import SkyrowJSON
package import SkyrowModel

extension RecordPredicate {
    /// Reads the grammar of skygear.md 6.5: `["and", …]`, `["not", …]`, `["eq", {"$type":"keypath","$val":"stars"}, 2]`.
    ///
    /// Throws `108 InvalidArgument` for what is outside of the grammar or beyond `WireLimits`, `111 NotSupported` for
    /// functions and for equality with arrays and objects, and `120 RecordQueryInvalid` for a malformed key path.
    /// `info.path` names the element, the first one in reading order.
    package init(_ json: JSONView) throws(SkyrowError) {
        var budget = WireLimits.predicateCount
        do throws(SkyrowError) { try self.init(json, budget: &budget) } catch { throw error.at("predicate") }
    }

    private init(_ json: JSONView, budget: inout Int) throws(SkyrowError) {
        budget -= 1
        guard budget >= 0 else {
            throw malformed("A predicate has at most \(WireLimits.predicateCount) conditions.")
        }
        guard json.isArray, json.count > 0 else {
            throw malformed("A predicate is an array that begins with an operator.")
        }
        var rest = json.elements
        guard let name = rest.next()?.string else {
            throw malformed("A predicate begins with the name of an operator.").at(0)
        }
        switch name {
        case "and", "or":
            guard json.count > 1 else { throw malformed("\"\(name)\" joins at least one predicate.") }
            var parts: [RecordPredicate] = []
            parts.reserveCapacity(json.count - 1)
            while let part = rest.next() {
                do throws(SkyrowError) { parts.append(try RecordPredicate(part, budget: &budget)) } catch {
                    throw error.at(parts.count + 1)
                }
            }
            self = name == "and" ? .and(parts) : .or(parts)
        case "not":
            guard json.count == 2, let part = rest.next() else { throw malformed("\"not\" takes one predicate.") }
            do throws(SkyrowError) { self = .not(try RecordPredicate(part, budget: &budget)) } catch {
                throw error.at(1)
            }
        case "func":
            throw SkyrowError(.notSupported, "This server has no functions in predicates.").at(0)
        default:
            guard let comparison = ComparisonOperator(rawValue: name) else {
                throw malformed("There is no operator \"\(excerpt(of: name))\".").at(0)
            }
            guard json.count == 3, let left = rest.next(), let right = rest.next() else {
                throw malformed("\"\(name)\" takes two operands.")
            }
            let operands = (try operand(left, of: comparison, at: 1), try operand(right, of: comparison, at: 2))
            if comparison == .in { try checkMembership(operands.0, operands.1) }
            self = .comparison(comparison, operands.0, operands.1)
        }
    }
}

private func operand(
    _ json: JSONView,
    of comparison: ComparisonOperator,
    at place: Int
) throws(SkyrowError) -> Operand {
    do throws(SkyrowError) { return try Operand(json, of: comparison) } catch { throw error.at(place) }
}

/// `in` has two forms: a key path in a list, and a string in a key path of a json field.
private func checkMembership(_ left: Operand, _ right: Operand) throws(SkyrowError) {
    switch (left, right) {
    case (.keyPath, .list), (.value(.string), .keyPath):
        return
    case (.keyPath, _), (.value(.string), _):
        throw wrongMembership.at(2)
    case (.value, _), (.list, _):
        throw wrongMembership.at(1)
    }
}

private let wrongMembership = malformed(
    "\"in\" takes a key path and an array, or a string and the key path of a json field."
)

private func malformed(_ message: String) -> SkyrowError {
    .invalidArgument(message, "predicate")
}

extension Operand {
    fileprivate init(_ json: JSONView, of comparison: ComparisonOperator) throws(SkyrowError) {
        switch json.kind {
        case .array:
            if let first = json.firstElement, first.equals("func") {
                throw SkyrowError(.notSupported, "This server has no functions in predicates.")
            }
            guard comparison == .in else {
                throw SkyrowError(.notSupported, "Only \"in\" compares with an array.")
            }
            guard json.count <= WireLimits.listCount else {
                throw malformed("\"in\" takes at most \(WireLimits.listCount) values.")
            }
            var values: [RecordValue] = []
            values.reserveCapacity(json.count)
            for element in json.elements {
                do throws(SkyrowError) { values.append(try RecordValue(literal: element)) } catch {
                    throw error.at(values.count)
                }
            }
            self = .list(values)
        case .object:
            if let path = try FieldPath(json: json) {
                self = .keyPath(path)
            } else {
                self = .value(try RecordValue(literal: json))
            }
        case .null, .false, .true, .integer, .number, .string, .escapedString:
            self = .value(try RecordValue(literal: json))
        }
    }
}

extension RecordValue {
    /// A literal of a query: a scalar or typed value that compares with a column.
    fileprivate init(literal json: JSONView) throws(SkyrowError) {
        switch try RecordValue(json, field: "predicate") {
        case .json:
            throw SkyrowError(.notSupported, "A predicate does not compare with arrays or objects.")
        case .sequence, nil:
            throw malformed("This typed value cannot be compared with.")
        case let value?:
            self = value
        }
    }
}

extension FieldPath {
    /// Reads `{"$type":"keypath","$val":"category.name"}`; nil for an object that is none.
    ///
    /// As in Skygear, any object whose `$val` is a non-empty string is a key path.
    init?(json: JSONView) throws(SkyrowError) {
        guard let text = json["$val"]?.string, !text.isEmpty else {
            if json["$type"]?.equals("keypath") ?? false {
                throw SkyrowError(.recordQueryInvalid, "A key path has the member $val with its names.")
            }
            return nil
        }
        try self.init(text)
    }
}

extension JSONWriter {
    /// A predicate in the grammar that `record:query` takes.
    package func predicate(_ predicate: RecordPredicate) {
        beginArray()
        switch predicate {
        case .and(let parts):
            string("and")
            for part in parts { self.predicate(part) }
        case .or(let parts):
            string("or")
            for part in parts { self.predicate(part) }
        case .not(let part):
            string("not")
            self.predicate(part)
        case .comparison(let comparison, let left, let right):
            string(comparison.rawValue)
            operand(left)
            operand(right)
        }
        endArray()
    }

    private func operand(_ operand: Operand) {
        switch operand {
        case .keyPath(let path): keyPath(path)
        case .value(let value): self.value(value)
        case .list(let values):
            beginArray()
            for value in values { self.value(value) }
            endArray()
        }
    }

    func keyPath(_ path: FieldPath) {
        beginObject()
        key("$type")
        string("keypath")
        key("$val")
        string(path.description)
        endObject()
    }
}
