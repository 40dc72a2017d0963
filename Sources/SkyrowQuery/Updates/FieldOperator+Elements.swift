internal import SkyrowJSON
internal import SkyrowModel

// The operators on arrays in JSON and on typed arrays.

extension FieldOperator {
    /// Applies the operator to the array of a field; a missing one counts as empty.
    func changingElements(
        of value: RecordValue,
        _ type: FieldType,
        _ budget: inout StepBudget
    ) throws(OperatorRefusal) -> RecordValue {
        // Only an existing element can be replaced.
        if case .setElement = kind, case .null = value { throw .type("array") }
        if case .array = type {
            switch value {
            case .null: return .array(try changed([] as [RecordValue], of: type, &budget))
            case .array(let stored): return .array(try changed(stored, of: type, &budget))
            default: throw .type("array")
            }
        }
        var stored: [JSONText] = []
        switch value {
        case .null: break
        case .json(let text):
            guard let elements = text.withValue({ $0.isArray ? $0.elements.map(\.jsonText) : nil }) ?? nil else {
                throw .type("array")
            }
            stored = elements
        default: throw .type("array")
        }
        let writer = JSONWriter()
        writer.beginArray()
        for element in try changed(stored, of: type, &budget) { writer.json(element) }
        writer.endArray()
        return .json(writer.jsonText)
    }

    private func changed<Element: OperatedElement>(
        _ stored: [Element],
        of type: FieldType,
        _ budget: inout StepBudget
    ) throws(OperatorRefusal) -> [Element] {
        switch kind {
        case .push(let operand, let end):
            let added = Element.elements(of: operand)
            return end == .last ? stored + added : added + stored
        case .addToSet(let operand):
            var known = Set(stored.map(\.identity))
            return stored + Element.elements(of: operand).filter { known.insert($0.identity).inserted }
        case .pull(let operand):
            let removed = Set(Element.elements(of: operand).map(\.identity))
            return stored.filter { !removed.contains($0.identity) }
        case .pullWhere(let predicate):
            // An invalid predicate was refused earlier.
            guard let test = try? ElementPredicate(predicate, ofElementsOf: type) else { throw .type("array") }
            var left: [Element] = []
            for element in stored {
                guard let isPulled = test.matches(element.stored, within: &budget) else { throw .budget }
                if !isPulled { left.append(element) }
            }
            return left
        case .pop(.first):
            return Array(stored.dropFirst())
        case .pop(.last):
            return Array(stored.dropLast())
        case .setElement(let index, let operand):
            guard index < stored.count, let element = Element(operand: operand) else { throw .noElement(index) }
            var changed = stored
            changed[Int(index)] = element
            return changed
        case .compute, .unset, .setOnInsert, .setMember, .computeMember, .unsetMember, .relate, .unrelate, .all:
            return stored
        }
    }
}

/// An element of an array that operators change.
private protocol OperatedElement {
    associatedtype Identity: Hashable

    /// Returns the elements of an array operand.
    static func elements(of operand: RecordValue) -> [Self]
    /// An operand that is one element; nil for other operands.
    init?(operand: RecordValue)
    /// The identity of an element according to PostgreSQL's `=`.
    var identity: Identity { get }
    /// The element for a predicate; nil for NULL.
    var stored: StoredValue? { get }
}

extension JSONText: OperatedElement {
    static func elements(of operand: RecordValue) -> [JSONText] {
        guard case .json(let text) = operand else { return [] }
        return text.withValue { $0.elements.map(\.jsonText) } ?? []
    }

    init?(operand: RecordValue) {
        guard case .json(let text) = operand else { return nil }
        self = text
    }

    fileprivate var stored: StoredValue? { .json(self) }
}

extension RecordValue: OperatedElement {
    static func elements(of operand: RecordValue) -> [RecordValue] {
        guard case .array(let elements) = operand else { return [] }
        return elements
    }

    init?(operand: RecordValue) {
        self = operand
    }

    fileprivate var stored: StoredValue? { StoredValue(self) { $0.id } }

    fileprivate var identity: ElementIdentity {
        switch self {
        case .string(let text): .text(TextKey(text))
        case .reference(let id): .text(TextKey(id.id))
        case .integer(let integer): .integer(integer)
        // Zeros of both signs are equal, and so are all NaNs.
        case .number(let number): .number(number == 0 ? 0 : number.isNaN ? Double.nan.bitPattern : number.bitPattern)
        case .boolean(let flag): .boolean(flag)
        default: .none
        }
    }
}

/// The identity of a typed array's element; operands have no `null`.
private enum ElementIdentity: Hashable {
    case none
    case text(TextKey)
    case integer(Int64)
    case number(UInt64)
    case boolean(Bool)
}

extension RecordValue {
    /// Throws for a value that is too long to be stored.
    func requireStorable() throws(OperatorRefusal) {
        let (count, length): (Int, Int)
        switch self {
        case .json(let text):
            (count, length) = text.withValue { ($0.isArray ? $0.count : 0, $0.storedLength) } ?? (0, 0)
        case .array(let elements):
            count = elements.count
            length = elements.reduce(0) { sum, element in
                if case .string(let text) = element { sum + text.utf8.count } else { sum }
            }
        default:
            return
        }
        if count > FieldOperator.Limits.elements { throw .count }
        if length > FieldOperator.Limits.bytes { throw .length }
    }
}
