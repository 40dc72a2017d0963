internal import SkyrowJSON
internal import SkyrowModel

// Comparisons with a typed array. A literal that no element can equal, such as 2.5 for integers, matches no element.

extension Comparison {
    /// Upper bound on the arrays of a list, each of which is a separate condition.
    private static let maximumArrays = 100

    /// Compares an array with a literal. Errors are relative to the literal; the caller adds its path.
    func array(
        of element: ElementType,
        _ comparison: ComparisonOperator,
        _ value: RecordValue
    ) throws(SkyrowError) -> ResolvedPredicate {
        switch comparison {
        case .eq: return try equality(value, element)
        case .neq: return .not(try equality(value, element))
        case .contains: return try condition(.holdsAll, [value], element)
        default: throw .predicateInvalid("\"\(row.name)\" does not take a literal.", path)
        }
    }

    /// `["contains_all", keypath, [ … ]]`
    func array(
        of element: ElementType,
        _ relation: ArrayRelation,
        _ values: [RecordValue]
    ) throws(SkyrowError) -> ResolvedPredicate {
        _ = try each(values) { value throws(SkyrowError) in try elements([value], element) }
        return try condition(relation, values, element)
    }

    /// `["in", keypath, [ … ]]`: the array contains one of the elements, or equals one of the arrays.
    func shared(with values: [RecordValue], _ element: ElementType) throws(SkyrowError) -> ResolvedPredicate {
        var parts: [ResolvedPredicate] = []
        var single: [RecordValue] = []
        for (place, value) in values.enumerated() where value != .null {
            do throws(SkyrowError) {
                if let elements = arrayElements(of: value) {
                    guard parts.count < Self.maximumArrays else {
                        throw .predicateInvalid("A list can have at most \(Self.maximumArrays) arrays.", path)
                    }
                    parts.append(try equality(elements, element))
                } else {
                    _ = try elements([value], element)
                    single.append(value)
                }
            } catch {
                throw error.at(place).at(literalPlace)
            }
        }
        if !single.isEmpty { parts.append(try condition(.holdsAny, single, element)) }
        return parts.count == 1 ? parts[0] : .or(parts)
    }

    private func equality(_ value: RecordValue, _ element: ElementType) throws(SkyrowError) -> ResolvedPredicate {
        guard let elements = arrayElements(of: value) else { return try condition(.holdsAll, [value], element) }
        return try equality(elements, element)
    }

    private func equality(_ values: [RecordValue], _ element: ElementType) throws(SkyrowError) -> ResolvedPredicate {
        guard !values.contains(.null) else {
            throw .predicateInvalid("An array of this type cannot contain null.", path)
        }
        return try condition(.equal, values, element)
    }

    private func condition(
        _ relation: ArrayRelation,
        _ values: [RecordValue],
        _ element: ElementType
    ) throws(SkyrowError) -> ResolvedPredicate {
        let list = try elements(values, element)
        switch relation {
        case .equal, .holdsAll:
            // One of the values can't be an element of any array of the type.
            guard list.count == values.count else { return .constant(column, false) }
        case .holdsAny, .heldBy:
            break
        }
        return .array(column, relation, list)
    }

    /// Returns the values that can be elements; throws `108 InvalidArgument` for a value of another type.
    private func elements(_ values: [RecordValue], _ element: ElementType) throws(SkyrowError) -> ResolvedList {
        switch element {
        case .string: return .texts(try every(values, string))
        case .integer: return .integers(try every(values, exactInteger).compactMap { $0 })
        case .number: return .numbers(try every(values, exactNumber).compactMap { $0 })
        case .boolean: return .booleans(try every(values, boolean))
        case .reference(let type):
            return .texts(try every(values) { value throws(SkyrowError) in try referredID(value, of: type) })
        }
    }

    private func every<Value>(
        _ values: [RecordValue],
        _ read: (RecordValue) throws(SkyrowError) -> Value
    ) throws(SkyrowError) -> [Value] {
        var result: [Value] = []
        result.reserveCapacity(values.count)
        for value in values { result.append(try read(value)) }
        return result
    }

    /// Returns the elements of an array literal; nil for any other.
    private func arrayElements(of value: RecordValue) -> [RecordValue]? {
        switch value {
        case .array(let elements): return elements
        case .json(let text):
            return text.withValue { json in
                json.isArray ? json.elements.map { RecordValue(element: $0) ?? .json($0.jsonText) } : nil
            } ?? nil
        default: return nil
        }
    }
}
