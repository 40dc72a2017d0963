internal import SkyrowJSON
package import SkyrowModel

extension FieldOperator {
    /// Applies the operator to the value of a field, as a save's statement does in the database.
    ///
    /// Throws the client's error if it does not apply: `108 InvalidArgument`, or `132 PayloadTooLarge` for too long a result.
    ///
    /// - Parameters:
    ///   - stored: the stored value; `null` for a missing one.
    ///   - isNew: whether the record is being created.
    ///   - field: the field to name in errors.
    ///   - type: its type, which determines the result for a missing array, and that operands have.
    ///   - budget: the remaining budget of the request for evaluating elements.
    package func apply(
        to stored: RecordValue,
        isNew: Bool,
        field: FieldName,
        of type: FieldType,
        within budget: inout StepBudget
    ) throws(SkyrowError) -> RecordValue {
        var value = stored
        for (place, step) in steps.enumerated() {
            do throws(OperatorRefusal) {
                value = try step.result(value, isNew: isNew, of: type, &budget)
            } catch {
                throw error.error(on: field, step: isSeveral ? place : nil)
            }
        }
        if steps.contains(where: \.makesLonger) {
            do throws(OperatorRefusal) { try value.requireStorable() } catch { throw error.error(on: field) }
        }
        return value
    }

    /// Applies the operator to a single value.
    package func apply(
        to stored: RecordValue,
        isNew: Bool,
        field: FieldName,
        of type: FieldType
    ) throws(SkyrowError) -> RecordValue {
        var budget = StepBudget.operators
        return try apply(to: stored, isNew: isNew, field: field, of: type, within: &budget)
    }

    private var isSeveral: Bool {
        if case .all = kind { true } else { false }
    }

    /// Whether the result may be longer than the stored value and the operand.
    package var makesLonger: Bool {
        switch kind {
        case .push, .addToSet, .setElement, .setMember, .computeMember: true
        case .compute, .unset, .setOnInsert, .pull, .pullWhere, .pop, .unsetMember, .relate, .unrelate: false
        case .all(let operators): operators.contains(where: \.makesLonger)
        }
    }

    private func result(
        _ value: RecordValue,
        isNew: Bool,
        of type: FieldType,
        _ budget: inout StepBudget
    ) throws(OperatorRefusal) -> RecordValue {
        switch kind {
        case .compute(let arithmetic, let operand):
            return try arithmetic.result(value, operand)
        case .unset:
            return .null
        case .setOnInsert(let inserted):
            return isNew ? inserted : value
        case .push, .addToSet, .pull, .pullWhere, .pop, .setElement:
            return try changingElements(of: value, type, &budget)
        case .setMember(let path, let member):
            return try value.changingMember(path.steps[...], .set(member))
        case .computeMember(let path, let arithmetic, let operand):
            return try value.changingMember(path.steps[...], .compute(arithmetic, operand))
        case .unsetMember(let path):
            return try value.changingMember(path.steps[...], .unset)
        case .relate, .unrelate:
            // The members are not part of the record.
            return value
        case .all(let operators):
            var value = value
            for step in operators { value = try step.result(value, isNew: isNew, of: type, &budget) }
            return value
        }
    }
}

// MARK: Numbers, instants and strings

extension FieldOperator.Arithmetic {
    fileprivate func result(_ stored: RecordValue, _ operand: RecordValue) throws(OperatorRefusal) -> RecordValue {
        switch (stored, operand) {
        case (.null, .integer): return self == .multiply ? .integer(0) : operand
        case (.null, .number): return self == .multiply ? .number(0) : operand
        case (.null, .string), (.null, .datetime): return try keeping(operand, operand, .same)
        case (.integer(let a), .integer(let b)): return .integer(try result(a, b))
        case (.number(let a), .number(let b)): return .number(try result(a, b))
        case (.integer(let a), .number(let b)): return .number(try result(Double(a), b))
        case (.number(let a), .integer(let b)): return .number(try result(a, Double(b)))
        case (.string(let a), .string(let b)): return try keeping(stored, operand, ValueOrder(texts: a, b))
        case (.datetime(let a), .datetime(let b)): return try keeping(stored, operand, ValueOrder(a, b))
        default: throw .type("number")
        }
    }

    private func result(_ a: Int64, _ b: Int64) throws(OperatorRefusal) -> Int64 {
        let (result, overflows) =
            switch self {
            case .increment: a.addingReportingOverflow(b)
            case .multiply: a.multipliedReportingOverflow(by: b)
            case .minimum: (min(a, b), false)
            case .maximum: (max(a, b), false)
            }
        if overflows { throw .range }
        return result
    }

    /// Computes like PostgreSQL's `double precision`: refuses overflow and underflow; NaN is greater than every number.
    private func result(_ a: Double, _ b: Double) throws(OperatorRefusal) -> Double {
        switch self {
        case .increment:
            let sum = a + b
            if sum.isInfinite, a.isFinite, b.isFinite { throw .range }
            return sum
        case .multiply:
            let product = a * b
            if product.isInfinite, a.isFinite, b.isFinite { throw .range }
            if product.isZero, !a.isZero, !b.isZero { throw .range }
            return product
        case .minimum: return ValueOrder(numbers: a, b) == .greater ? b : a
        case .maximum: return ValueOrder(numbers: a, b) == .less ? b : a
        }
    }

    /// Returns the stored value or the operand, whichever is the minimum or maximum.
    private func keeping(
        _ stored: RecordValue,
        _ operand: RecordValue,
        _ order: ValueOrder
    ) throws(OperatorRefusal) -> RecordValue {
        switch self {
        case .increment, .multiply: throw .type("number")
        case .minimum: return order == .greater ? operand : stored
        case .maximum: return order == .less ? operand : stored
        }
    }

    /// Computes with numbers inside JSON, which are decimals.
    fileprivate func result(_ stored: JSONDecimal?, _ operand: JSONDecimal) throws(OperatorRefusal) -> JSONDecimal {
        guard let stored else { return self == .multiply ? JSONDecimal(Int64(0)) : operand }
        let result: JSONDecimal? =
            switch self {
            case .increment: stored.adding(operand)
            case .multiply: stored.multiplied(by: operand)
            case .minimum: min(stored, operand)
            case .maximum: max(stored, operand)
            }
        guard let result, result.plainLength <= FieldOperator.Limits.digits else { throw .range }
        return result
    }
}

// MARK: Members of objects

/// A change to a member of an object.
private enum MemberChange {
    case set(JSONText)
    case compute(FieldOperator.Arithmetic, JSONText)
    case unset
}

extension RecordValue {
    fileprivate func changingMember(
        _ path: ArraySlice<String>,
        _ change: MemberChange
    ) throws(OperatorRefusal) -> RecordValue {
        let writer = JSONWriter()
        let result: Result<Void, OperatorRefusal>?
        switch self {
        case .null:
            result = Result { () throws(OperatorRefusal) in try writer.object(nil, changing: path, change) }
        case .json(let text):
            result = text.withValue { json in
                Result { () throws(OperatorRefusal) in try writer.object(json, changing: path, change) }
            }
        default: throw .type("object")
        }
        guard let result else { throw .type("object") }
        try result.get()
        return .json(writer.jsonText)
    }
}

extension JSONWriter {
    /// Writes an object with a changed member; missing objects on the path are created.
    fileprivate func object(
        _ json: JSONView?,
        changing path: ArraySlice<String>,
        _ change: MemberChange
    ) throws(OperatorRefusal) {
        let object = json.flatMap { $0.isNull ? nil : $0 }
        guard object?.isObject ?? true else { throw .type("object") }
        guard let name = path.first else { return }
        beginObject()
        var isFound = false
        for (key, value) in object?.uniqueMembers ?? [] {
            guard key.isSameText(as: name) else {
                self.key(key)
                self.json(validated: value.source)
                continue
            }
            isFound = true
            try member(key, value, path.dropFirst(), change)
        }
        if !isFound { try member(name, nil, path.dropFirst(), change) }
        endObject()
    }

    /// Writes a changed member, or nothing if it is removed.
    private func member(
        _ name: String,
        _ value: JSONView?,
        _ rest: ArraySlice<String>,
        _ change: MemberChange
    ) throws(OperatorRefusal) {
        guard rest.isEmpty else {
            // Removing a member does not create missing objects.
            if case .unset = change, value?.isNull ?? true {
                if let value {
                    key(name)
                    json(validated: value.source)
                }
                return
            }
            key(name)
            return try object(value, changing: rest, change)
        }
        switch change {
        case .set(let text):
            key(name)
            json(text)
        case .compute(let arithmetic, let operand):
            let stored = value.flatMap { $0.isNull ? nil : $0 }
            let number = stored.flatMap { JSONDecimal($0) }
            if stored != nil, number == nil { throw .type("number") }
            guard let operand = operand.withValue({ JSONDecimal($0) }) ?? nil else { throw .type("number") }
            let text = try arithmetic.result(number, operand).plainText
            key(name)
            text.withBytes { json(validated: UnsafeRawBufferPointer($0)) }
        case .unset:
            break
        }
    }
}
