internal import SkyrowJSON
import SkyrowModel

extension StoredValue {
    /// Returns the form of the value in which a column is compared; nil if it is missing.
    func compared(in column: ResolvedColumn, _ budget: inout StepBudget) -> StoredValue? {
        guard let value = read(as: column.reading, within: &budget) else { return nil }
        guard column.readsWireID || column.folds, case .scalar(.text(let stored)) = value else { return value }
        let text = column.readsWireID ? StoredID.wireID(of: stored) : stored
        guard column.folds else { return .scalar(.text(text)) }
        // Each character is looked up in a table.
        return budget.take(text.utf8.count) ? .scalar(.text(TextFolding.fold(text))) : nil
    }

    /// The number of elements; for JSON an estimate from its size.
    var elementCount: Int {
        switch self {
        case .array(let elements): elements.count
        case .json(let text): text.utf8.count / 2
        case .scalar, .opaque: 1
        }
    }
}

extension StepBudget {
    /// Takes the steps for extracting the elements of a value.
    mutating func take(elementsOf value: StoredValue) -> Bool {
        switch value {
        case .array(let elements): take(elements.count)
        case .json(let text): take(parsing: 2 * text.utf8.count)
        case .scalar, .opaque: take()
        }
    }
}

extension ValueOrder {
    /// Compares within a budget.
    init?(_ a: ResolvedLiteral, _ b: ResolvedLiteral, _ budget: inout StepBudget) {
        guard budget.take(comparing: a.bytes(comparedWith: b)) else { return nil }
        self.init(a, b)
    }
}

extension ResolvedLiteral {
    /// Returns the wire id of an element in an array of references.
    func wireForm(in kind: ValueKind) -> ResolvedLiteral {
        guard case .array(.reference) = kind, case .text(let id) = self else { return self }
        return .text(StoredID.wireID(of: id))
    }
}

extension StoredIDForms {
    func contain(_ stored: String, amongWireIDs wireIDs: [String]) -> Bool {
        switch self {
        case .plain: wireIDs.contains { $0.isSameText(as: stored) }
        case .prefixed(let prefix): wireIDs.contains { (prefix + $0).isSameText(as: stored) }
        case .either(let prefix):
            wireIDs.contains { $0.isSameText(as: stored) || (prefix + $0).isSameText(as: stored) }
        case .any:
            wireIDs.contains { $0.isSameText(as: StoredID.wireID(of: stored)) }
        }
    }
}

extension StoredValue {
    /// Returns whether two arrays or two JSON values are equal; nil for other values, and if the budget is exceeded.
    func isSameWhole(as other: StoredValue, _ budget: inout StepBudget) -> Bool? {
        switch (self, other) {
        case (.json(let a), .json(let b)):
            guard budget.take(parsing: a.utf8.count + b.utf8.count) else { return nil }
            return a.identity == b.identity
        case (.array(let a), .array(let b)):
            guard a.count == b.count else { return false }
            for (a, b) in zip(a, b) {
                // As in PostgreSQL, NULL elements are equal here.
                guard let a, let b else {
                    if a == nil, b == nil { continue }
                    return false
                }
                guard let order = ValueOrder(a, b, &budget) else { return nil }
                if order != .same { return false }
            }
            return true
        default: return nil
        }
    }
}
