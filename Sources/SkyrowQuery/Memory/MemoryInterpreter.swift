internal import SkyrowJSON
package import SkyrowModel

/// Evaluates a resolved query for records in memory, as its SQL text does in the database.
///
/// ```swift
/// let interpreter = MemoryInterpreter(query) { type, id in records[type]?[id] }
/// let matches = records.filter(interpreter.matches).sorted(by: interpreter.isOrdered)
/// ```
package struct MemoryInterpreter {
    private let query: ResolvedQuery
    private let source: RecordSources

    /// - Parameters:
    ///   - lookup: returns the record of a type with this stored id, whether or not the caller may read it.
    ///   - all: returns the records of a type, for subqueries.
    ///   - isRelated: returns whether a user has a relation.
    package init(
        _ query: ResolvedQuery,
        lookup: @escaping (RecordTypeName, String) -> StoredRecord? = { _, _ in nil },
        all: @escaping (RecordTypeName) -> [StoredRecord] = { _ in [] },
        isRelated: @escaping (UserID, ResolvedUserRelation) -> Bool = { _, _ in false }
    ) {
        self.query = query
        source = RecordSources(lookup: lookup, all: all, isRelated: isRelated)
    }

    /// Returns whether the caller may read a record, and the predicate is true for it.
    package func matches(_ record: StoredRecord) -> Bool {
        query.visibility.records.admits(record, source) && truth(of: record) == .yes
    }

    /// Returns the truth value of the predicate for a record; true without a predicate.
    package func truth(of record: StoredRecord) -> Truth {
        var budget = StepBudget.unbounded
        return truth(of: record, within: &budget) ?? .unknown
    }

    /// The same within a budget; nil if that is exceeded.
    package func truth(of record: StoredRecord, within budget: inout StepBudget) -> Truth? {
        guard let predicate = query.predicate else { return .yes }
        var view = RecordView(record, query.joins, query.visibility, source)
        let truth = view.truth(predicate, &budget)
        return budget.isSpent ? nil : truth
    }

    /// Returns whether the first record comes before the second in the order of the query.
    package func isOrdered(_ first: StoredRecord, _ second: StoredRecord) -> Bool {
        var budget = StepBudget.unbounded
        var first = RecordView(first, query.joins, query.visibility, source)
        var second = RecordView(second, query.joins, query.visibility, source)
        return first.comesBefore(&second, by: query.sort, &budget)
    }
}

/// The sources of further records and of relations.
private struct RecordSources {
    let lookup: (RecordTypeName, String) -> StoredRecord?
    let all: (RecordTypeName) -> [StoredRecord]
    let isRelated: (UserID, ResolvedUserRelation) -> Bool
}

extension ResolvedPredicate {
    /// Returns the truth value for a record; nil if the budget is exceeded.
    ///
    /// Requires a predicate with ``ResolvedQuery/isAboutRecordsAlone``; there are no other records.
    package func truth(of record: StoredRecord, within budget: inout StepBudget) -> Truth? {
        let truth = RecordView.truth(self, of: record, &budget)
        return budget.isSpent ? nil : truth
    }

    /// Returns the truth value for an array element, nil for NULL, of a predicate on it alone; nil if the budget is exceeded.
    func truth(ofElement element: StoredValue?, within budget: inout StepBudget) -> Truth? {
        let truth = RecordView.truth(self, ofElement: element, &budget)
        return budget.isSpent ? nil : truth
    }
}

extension AccessScope {
    fileprivate func admits(_ record: StoredRecord, _ source: RecordSources) -> Bool {
        admits(record, isRelated: source.isRelated)
    }

    /// Returns whether the scope admits a record.
    ///
    /// - Parameter isRelated: returns whether a user has a relation to another one.
    package func admits(_ record: StoredRecord, isRelated: (UserID, ResolvedUserRelation) -> Bool) -> Bool {
        admits(database: record.database, owner: record.owner, access: record.access) { field, user in
            record.names(user, in: field)
        } isRelated: { user, relation, owner in
            isRelated(owner, relation.resolved(of: user))
        }
    }
}

extension Subject.Relation {
    /// Returns the relation that a record's owner must have to a user for an entry of this kind.
    package func resolved(of user: UserID) -> ResolvedUserRelation {
        switch self {
        case .friend: ResolvedUserRelation(user: user, relation: .friend, direction: .mutual)
        case .follower: ResolvedUserRelation(user: user, relation: .follow, direction: .outward)
        case .followed: ResolvedUserRelation(user: user, relation: .follow, direction: .inward)
        }
    }
}

/// One record during evaluation, with the records behind its references that were looked up so far.
private struct RecordView {
    private enum Joined {
        case notAsked
        case missing
        case record(StoredRecord)
    }

    private let record: StoredRecord
    private let joins: [ResolvedJoin]
    private let visibility: ResolvedVisibility
    private let source: RecordSources
    private var joined: [Joined]
    /// The scope of the record for the conditions inside.
    private var scope = ResolvedColumn.Scope.query
    /// The records of the enclosing conditions, the outermost first.
    private var around: [RecordView] = []
    /// The element of the innermost predicate.
    private var element: StoredValue?

    init(_ record: StoredRecord, _ joins: [ResolvedJoin], _ visibility: ResolvedVisibility, _ source: RecordSources) {
        self.record = record
        self.joins = joins
        self.visibility = visibility
        self.source = source
        joined = Array(repeating: .notAsked, count: joins.count)
    }

    /// Returns whether the record comes before another one in an order.
    mutating func comesBefore(_ other: inout RecordView, by sort: [ResolvedSort], _ budget: inout StepBudget) -> Bool {
        for key in sort {
            let order: ValueOrder
            let own = value(of: key.column, &budget)
            switch (own, other.value(of: key.column, &budget)) {
            case (nil, nil): continue
            case (nil, _?): return key.missingComesFirst
            case (_?, nil): return !key.missingComesFirst
            case (.scalar(let a)?, .scalar(let b)?): order = ValueOrder(a, b, &budget) ?? .same
            // Other values are not sort keys.
            case (_?, _?): continue
            }
            guard order != .same else { continue }
            return order == (key.direction == .ascending ? .less : .greater)
        }
        return false
    }

    // MARK: Columns

    /// A field is looked up by its name.
    private static let stepsOfValue = 4

    /// Returns the compared value of a column; nil if it is missing.
    mutating func value(of column: ResolvedColumn, _ budget: inout StepBudget) -> StoredValue? {
        guard budget.take(Self.stepsOfValue) else { return nil }
        if let scope = column.scope, scope != self.scope {
            guard var view = around.first(where: { $0.scope == scope }) else { return nil }
            return view.value(of: column, &budget)
        }
        if case .element = column.place { return element?.compared(in: column, &budget) }
        let source: StoredRecord
        if let join = column.join {
            guard let target = target(of: join, &budget) else { return nil }
            source = target
        } else {
            source = record
        }
        if let limit = column.limit {
            let isSeen = limit.reach.holds(isOwner: source.owner == limit.user) { field in
                budget.take(source.fields[field.name]?.elementCount ?? 1) && source.names(limit.user, in: field)
            }
            guard isSeen else { return nil }
        }
        if case .members(_, let type) = column.reading {
            return .scalar(.integer(Int64(records(of: type, in: source.value(of: column.place), &budget).count)))
        }
        return source.value(of: column.place)?.compared(in: column, &budget)
    }

    /// Returns the readable records whose ids are the elements of a value.
    private func records(
        of type: RecordTypeName,
        in value: StoredValue?,
        _ budget: inout StepBudget
    ) -> [StoredRecord] {
        guard let value, budget.take(elementsOf: value) else { return [] }
        return value.elements.compactMap { element in
            guard budget.take(), case .scalar(.text(let id))? = element, let record = source.lookup(type, id),
                visibility.referenced(type).contains(where: { $0.admits(record, source) })
            else { return nil }
            return record
        }
    }

    private mutating func target(of join: Int, _ budget: inout StepBudget) -> StoredRecord? {
        switch joined[join] {
        case .missing: return nil
        case .record(let target): return target
        case .notAsked: break
        }
        joined[join] = .missing
        let step = joins[join]
        guard case .scalar(.text(let id))? = value(of: step.reference, &budget),
            let target = source.lookup(step.target, id),
            visibility.referenced(step.target).contains(where: { $0.admits(target, source) })
        else { return nil }
        joined[join] = .record(target)
        return target
    }

    // MARK: Predicates

    /// Returns unknown if the budget is exceeded, which invalidates the whole result.
    mutating func truth(_ predicate: ResolvedPredicate, _ budget: inout StepBudget) -> Truth {
        guard budget.take() else { return .unknown }
        switch predicate {
        case .and(let parts): return first(.no, of: parts, &budget) ?? .yes
        case .or(let parts): return first(.yes, of: parts, &budget) ?? .no
        case .not(let part): return !truth(part, &budget)
        case .none(let parts): return Truth(first(.yes, of: parts, &budget) != .yes)
        case .unknown: return .unknown
        case .isMissing(let column): return Truth(value(of: column, &budget) == nil)
        case .isPresent(let column): return Truth(value(of: column, &budget) != nil)
        case .constant(let column, let isTrue): return value(of: column, &budget) == nil ? .unknown : Truth(isTrue)
        case .comparison(let column, let relation, let literal):
            guard case .scalar(let value)? = value(of: column, &budget),
                let order = ValueOrder(value, literal, &budget)
            else { return .unknown }
            return Truth(order.satisfies(relation))
        case .columns(let left, let relation, let right):
            guard let a = value(of: left, &budget), let b = value(of: right, &budget) else { return .unknown }
            if case (.scalar(let a), .scalar(let b)) = (a, b) {
                return ValueOrder(a, b, &budget).map { Truth($0.satisfies(relation)) } ?? .unknown
            }
            return a.isSameWhole(as: b, &budget).map { Truth($0 == (relation == .equal)) } ?? .unknown
        case .text(let column, let test, let other):
            return text(of: column, &budget) { test.holds(for: $0, other, within: &$1) }
        case .match(let column, let words):
            // Only the database can evaluate words of a language.
            if words.language.needsDatabase { return .unknown }
            return text(of: column, &budget) { words.matches($0, within: &$1) ?? false }
        case .regex(let column, let pattern):
            return text(of: column, &budget) { pattern.matches($0, within: &$1) }
        case .isOneOf(let column, let list): return isOneOf(column, list, &budget)
        case .hasID(let column, let wireIDs):
            guard case .scalar(.text(let id))? = value(of: column, &budget) else {
                return wireIDs.isEmpty ? .no : .unknown
            }
            guard budget.take(4 * wireIDs.count) else { return .unknown }
            return Truth(column.idForms.contain(id, amongWireIDs: wireIDs))
        case .holdsText(let column, let text):
            guard case .json(let json)? = value(of: column, &budget), budget.take(parsing: json.utf8.count) else {
                return .unknown
            }
            return Truth(json.holds(text))
        case .json(let column, let relation, let values):
            // Even a missing value is not one of none.
            if relation == .equal, values.isEmpty { return .no }
            guard case .json(let json)? = value(of: column, &budget) else { return .unknown }
            return relation.holds(for: json, values, within: &budget).map { Truth($0) } ?? .unknown
        case .array(let column, let relation, let list): return array(column, relation, list, &budget)
        case .place(let column, let place):
            switch value(of: column, &budget) {
            case .scalar(.location(let location))?:
                return budget.take(place.positionCount) ? Truth(place.holds(for: location)) : .unknown
            case .scalar(.geometry(let geometry))?:
                guard budget.take(geometry.positions.count * place.positionCount) else { return .unknown }
                return place.holds(for: geometry).map { Truth($0) } ?? .unknown
            default: return .unknown
            }
        case .covers(let column, let location):
            guard case .scalar(.geometry(let geometry))? = value(of: column, &budget),
                budget.take(2 * geometry.positions.count)
            else { return .unknown }
            return Truth(geometry.covers(location))
        case .isFound(let column, let query): return isFound(column, by: query, &budget)
        case .isNotFound(let column, let query):
            return value(of: column, &budget) == nil ? .unknown : !isFound(column, by: query, &budget)
        case .isMember(let column, let owner): return Truth(isMember(column, of: owner, &budget))
        case .isRelated(let column, let relation):
            guard case .scalar(.text(let id))? = value(of: column, &budget) else { return .no }
            return Truth(source.isRelated(UserID(id), relation))
        case .any(let elements): return Truth(truths(of: elements, &budget).contains(.yes))
        case .all(let elements): return Truth(truths(of: elements, &budget).allSatisfy { $0 == .yes })
        case .hasEach(let elements): return Truth(hasEach(elements, &budget))
        }
    }

    static func truth(
        _ predicate: ResolvedPredicate,
        ofElement element: StoredValue?,
        _ budget: inout StepBudget
    ) -> Truth {
        var view = RecordView(alone: StoredRecord(type: .user, storedID: ""))
        view.element = element
        return view.truth(predicate, &budget)
    }

    static func truth(_ predicate: ResolvedPredicate, of record: StoredRecord, _ budget: inout StepBudget) -> Truth {
        var view = RecordView(alone: record)
        return view.truth(predicate, &budget)
    }

    /// A record without access to others.
    private init(alone record: StoredRecord) {
        self.init(record, [], Self.anyVisibility, Self.noSources)
    }

    private static let anyVisibility = ResolvedVisibility(
        RecordAccess(in: .everyone, for: .reading, by: Caller(kind: .master(actingAs: nil))),
        of: .user,
        rules: [:]
    )

    private static var noSources: RecordSources {
        RecordSources(lookup: { _, _ in nil }, all: { _ in [] }, isRelated: { _, _ in false })
    }

    /// Returns the truth value of a predicate for each element, until the budget is exceeded.
    private mutating func truths(of elements: ResolvedElements, _ budget: inout StepBudget) -> [Truth] {
        guard let value = value(of: elements.column, &budget), budget.take(elementsOf: value) else { return [] }
        var truths: [Truth] = []
        if let records = elements.records {
            for record in self.records(of: records.type, in: value, &budget) where !budget.isSpent {
                var view = inside(record, records.joins, number: records.number)
                truths.append(view.truth(elements.predicate, &budget))
            }
        } else {
            for value in value.elements where !budget.isSpent {
                var view = self
                view.element = value
                truths.append(view.truth(elements.predicate, &budget))
            }
        }
        return truths
    }

    /// Returns the view of a record for a nested condition.
    private func inside(_ record: StoredRecord, _ joins: [ResolvedJoin], number: Int) -> RecordView {
        var view = RecordView(record, joins, visibility, source)
        view.scope = .inside(number)
        view.around = around + [self]
        return view
    }

    private mutating func hasEach(_ elements: ResolvedElements, _ budget: inout StepBudget) -> Bool {
        guard let records = elements.records, case .hasID(let column, let ids) = elements.predicate else {
            return false
        }
        let value = value(of: elements.column, &budget)
        let members = self.records(of: records.type, in: value, &budget)
        return ids.allSatisfy { id in
            members.contains { budget.take(4) && column.idForms.contain($0.storedID, amongWireIDs: [id]) }
        }
    }

    private mutating func isMember(
        _ column: ResolvedColumn,
        of owner: ResolvedOwner,
        _ budget: inout StepBudget
    ) -> Bool {
        guard case .scalar(.text(let id))? = value(of: column, &budget) else { return false }
        return source.all(owner.type).contains { record in
            guard budget.take(4), owner.idColumn.idForms.contain(record.storedID, amongWireIDs: [owner.wireID]),
                visibility.referenced(owner.type).contains(where: { $0.admits(record, source) })
            else { return false }
            var view = RecordView(record, [], visibility, source)
            guard let members = view.value(of: owner.relation, &budget), budget.take(elementsOf: members) else {
                return false
            }
            return members.elements.contains { element in
                if case .scalar(.text(let member))? = element { member.isSameText(as: id) } else { false }
            }
        }
    }

    private mutating func isFound(
        _ column: ResolvedColumn,
        by query: ResolvedSubquery,
        _ budget: inout StepBudget
    ) -> Truth {
        let found = values(of: query, &budget)
        let value = value(of: column, &budget)
        // As in SQL, an empty result contains not even a missing value, but a missing array's overlap with it is unknown.
        if found.isEmpty {
            if case .array = column.kind, value == nil { return .unknown }
            return .no
        }
        switch value {
        case nil: return .unknown
        case .scalar(let value)?: return Truth(found.contains { ValueOrder($0, value, &budget) == .same })
        case .array(let elements)?:
            return Truth(
                elements.contains { element in
                    element.map { element in found.contains { ValueOrder($0, element, &budget) == .same } } ?? false
                }
            )
        case .json?, .opaque?: return .unknown
        }
    }

    /// Returns the values of a subquery's key in the readable records that match its predicate.
    private func values(of query: ResolvedSubquery, _ budget: inout StepBudget) -> [ResolvedLiteral] {
        var views = source.all(query.type).compactMap { record -> RecordView? in
            guard budget.take(), visibility.referenced(query.type).contains(where: { $0.admits(record, source) }) else {
                return nil
            }
            var view = inside(record, query.joins, number: query.number)
            return query.predicate.map { view.truth($0, &budget) == .yes } ?? true ? view : nil
        }
        if let first = query.first {
            views.sort { a, b in
                var (a, b) = (a, b)
                return a.comesBefore(&b, by: first.sort, &budget)
            }
            views = Array(views.prefix(first.limit))
        }
        return views.compactMap { view in
            var view = view
            guard case .scalar(let value)? = view.value(of: query.key, &budget) else { return nil }
            return value
        }
    }

    private mutating func array(
        _ column: ResolvedColumn,
        _ relation: ArrayRelation,
        _ list: ResolvedList,
        _ budget: inout StepBudget
    ) -> Truth {
        guard case .array(let stored)? = value(of: column, &budget), budget.take(stored.count + list.count) else {
            return .unknown
        }
        let elements = column.idForms == .plain ? stored : stored.map { $0?.wireForm(in: column.kind) }
        return Truth(relation.holds(for: elements, list.literals, within: &budget))
    }

    private mutating func text(
        of column: ResolvedColumn,
        _ budget: inout StepBudget,
        _ holds: (String, inout StepBudget) -> Bool
    ) -> Truth {
        guard case .scalar(.text(let text))? = value(of: column, &budget) else { return .unknown }
        return Truth(holds(text, &budget))
    }

    /// Returns `decisive` if any predicate has this truth value; otherwise unknown if any is unknown, and nil if none is.
    private mutating func first(
        _ decisive: Truth,
        of parts: [ResolvedPredicate],
        _ budget: inout StepBudget
    ) -> Truth? {
        var result: Truth?
        for part in parts where !budget.isSpent {
            let truth = truth(part, &budget)
            if truth == decisive { return decisive }
            if truth == .unknown { result = .unknown }
        }
        return result
    }

    private mutating func isOneOf(_ column: ResolvedColumn, _ list: ResolvedList, _ budget: inout StepBudget) -> Truth {
        guard let value = value(of: column, &budget) else { return list.isEmpty ? .no : .unknown }
        guard case .scalar(let scalar) = value, budget.take(comparing: list.bytes(comparedWith: scalar)) else {
            return .unknown
        }
        return list.contains(scalar).map { Truth($0) } ?? .unknown
    }
}

// MARK: Operators

extension TextTest {
    /// Whether a text passes the test with another one; false if the budget is exceeded.
    fileprivate func holds(for text: String, _ other: String, within budget: inout StepBudget) -> Bool {
        switch self {
        case .pattern: LikePattern(other).matches(text, within: &budget)
        case .suffix:
            budget.take(comparing: other.utf8.count) && text.utf8.count >= other.utf8.count
                && text.utf8.suffix(other.utf8.count).elementsEqual(other.utf8)
        case .substring: text.holds(other, within: &budget)
        }
    }
}

extension ArrayRelation {
    /// Whether the elements of an array, nil for NULL, have the relation to some values.
    fileprivate func holds(
        for elements: [ResolvedLiteral?],
        _ values: [ResolvedLiteral],
        within budget: inout StepBudget
    ) -> Bool {
        func isSame(_ element: ResolvedLiteral?, _ value: ResolvedLiteral) -> Bool {
            element.flatMap { ValueOrder($0, value, &budget) } == .same
        }
        return switch self {
        case .equal: elements.count == values.count && zip(elements, values).allSatisfy { isSame($0, $1) }
        case .holdsAll: values.allSatisfy { value in elements.contains { isSame($0, value) } }
        case .holdsAny: values.contains { value in elements.contains { isSame($0, value) } }
        case .heldBy: elements.allSatisfy { element in values.contains { isSame(element, $0) } }
        }
    }

    /// Whether a JSON value has the relation to others; nil for texts that are nested too deep, and if the budget is exceeded.
    fileprivate func holds(for text: JSONText, _ values: [JSONText], within budget: inout StepBudget) -> Bool? {
        // The identity of each element, and of each value to find, is computed.
        let own = values.reduce(2 * text.utf8.count) { $0 + $1.utf8.count }
        guard budget.take(parsing: own), budget.take(values.count) else { return nil }
        return text.withValue { json -> Bool? in
            let elements = json.elements.map { JSONIdentity($0) }
            // Each value is compared with each element.
            guard budget.take(elements.count * values.count / 4) else { return nil }
            switch self {
            case .equal:
                let own = JSONIdentity(json)
                return values.contains { value in
                    guard let identity = value.identity else { return false }
                    return identity == own || (value.isScalar && elements.contains(identity))
                }
            case .holdsAll: return values.allSatisfy { $0.identity.map(elements.contains) ?? false }
            case .holdsAny: return values.contains { $0.identity.map(elements.contains) ?? false }
            case .heldBy:
                let identities = Set(values.compactMap(\.identity))
                return json.isArray && elements.allSatisfy(identities.contains)
            }
        } ?? nil
    }
}
