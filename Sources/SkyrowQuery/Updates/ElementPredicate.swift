package import SkyrowModel

/// A predicate on each element of an array, by itself (`pull` with `$where`).
package struct ElementPredicate: Hashable, Sendable {
    /// Limits for evaluating many elements, since PostgreSQL checks for a cancellation only between rows.
    private enum Limits {
        static let comparisons = 6
        static let listValues = 16
        static let patterns = 2
        /// For all patterns together.
        static let patternBytes = 64
        /// For all regular expressions together.
        static let transitions = 32
    }

    /// The predicate on elements at array depth 1.
    package let predicate: ResolvedPredicate

    /// Resolves a predicate whose key paths start at the element: `$`, `$.size.width`, `size.width`.
    ///
    /// Throws `108 InvalidArgument` for a predicate that does not fit such elements, and for one that needs more than the
    /// element itself; `info.path` is relative to the predicate.
    ///
    /// - Parameter type: the type of the field, a typed array or JSON.
    package init(_ predicate: RecordPredicate, ofElementsOf type: FieldType) throws(SkyrowError) {
        try predicate.requireElementAlone()
        var resolver = Resolver(
            schema: NoTypes(),
            root: NoTypes.NoFields(),
            access: RecordAccess(in: .everyone, for: .reading, by: Caller(kind: .master(actingAs: nil)))
        )
        // Valid for any collation of the column, and for references to any database.
        let array = ResolvedColumn(place: .element(depth: 1), kind: ValueKind(type), collation: .other)
        var element = array.element(atDepth: 1)
        element.idForms = .any
        resolver.start = .value(element)
        resolver.use.elementDepth = 1
        do throws(SkyrowError) { self.predicate = try resolver.condition(predicate) } catch {
            guard error.code == .recordQueryInvalid else { throw error }
            throw SkyrowError(.invalidArgument, error.message, info: error.info)
        }
        let use = resolver.use
        guard use.comparisons <= Limits.comparisons, use.listValues <= Limits.listValues,
            use.patterns <= Limits.patterns, use.patternBytes <= Limits.patternBytes,
            use.transitions <= Limits.transitions
        else {
            throw .invalidArgument(
                "A \"$where\" predicate can have at most \(Limits.comparisons) comparisons, \(Limits.listValues) values in "
                    + "lists and \(Limits.patterns) patterns of \(Limits.patternBytes) bytes in total, and its regular "
                    + "expressions must be short."
            )
        }
    }

    /// Returns whether it is true for an element, nil for NULL or `null`; nil if the budget is exceeded.
    func matches(_ element: StoredValue?, within budget: inout StepBudget) -> Bool? {
        predicate.truth(ofElement: element, within: &budget).map { $0 == .yes }
    }
}

extension StepBudget {
    /// The budget for evaluating one request's operators in memory after its statement refused them: two arrays of maximum
    /// length with the largest predicate.
    package static let operators = StepBudget(40_000_000)
}

/// A schema without types, in which no key path leads from an element to a record.
private struct NoTypes: QuerySchema {
    struct NoFields: QueryRecordType {
        let name = RecordTypeName.user
        let hasMetadata = false
        let fieldPositions: [Int] = []
        let classRules: ClassRules? = nil

        func queryField(_ name: FieldName) -> QueryField? { nil }
        func isHidden(_ name: FieldName) -> Bool { false }
        func standing(_ asking: FieldAsking, of name: FieldName, for caller: FieldAccess) -> AccessCondition { .always }
        func collation(of column: ReservedColumn) -> TextCollation { .bytes }
    }

    subscript(type: RecordTypeName) -> NoFields? { nil }
}

extension RecordPredicate {
    /// Throws `108 InvalidArgument` for a subquery inside it, and for `match`, `any` and `all`.
    fileprivate func requireElementAlone() throws(SkyrowError) {
        switch self {
        case .and(let parts), .or(let parts), .none(let parts):
            for (place, part) in parts.enumerated() {
                do throws(SkyrowError) { try part.requireElementAlone() } catch { throw error.at(place + 1) }
            }
        case .not(let part):
            do throws(SkyrowError) { try part.requireElementAlone() } catch { throw error.at(1) }
        case .match, .found, .elements, .related, .userRelation:
            throw SkyrowError.invalidArgument(
                "\"$where\" can only test the element itself, not words, other records or nested elements."
            ).at(0)
        case .comparison, .between, .regex, .place:
            break
        }
    }
}
