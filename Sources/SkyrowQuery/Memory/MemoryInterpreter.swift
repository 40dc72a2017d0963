package import SkyrowModel

/// Answers a resolved query for records in memory, as its SQL text does in the database.
///
/// ```swift
/// let interpreter = MemoryInterpreter(query) { type, id in records[type]?[id] }
/// let matches = records.filter(interpreter.matches).sorted(by: interpreter.isOrdered)
/// ```
package struct MemoryInterpreter {
    private let query: ResolvedQuery
    private let source: RecordSources

    /// - Parameters:
    ///   - lookup: the record of a type with this stored id, whether the caller may read it or not.
    ///   - all: the records of a type, for queries inside of a predicate.
    ///   - isRelated: whether a user is something to the caller.
    package init(
        _ query: ResolvedQuery,
        lookup: @escaping (RecordTypeName, String) -> StoredRecord? = { _, _ in nil },
        all: @escaping (RecordTypeName) -> [StoredRecord] = { _ in [] },
        isRelated: @escaping (UserID, ResolvedUserRelation) -> Bool = { _, _ in false }
    ) {
        self.query = query
        source = RecordSources(lookup: lookup, all: all, isRelated: isRelated)
    }

    /// Whether the record is among those that the query is about: the caller may read it, and the predicate is true.
    package func matches(_ record: StoredRecord) -> Bool {
        query.visibility.records.admits(record, source) && truth(of: record) == .yes
    }

    /// What the predicate is for a record; true where there is none.
    package func truth(of record: StoredRecord) -> Truth {
        guard let predicate = query.predicate else { return .yes }
        var view = RecordView(record, query.joins, query.visibility, source)
        return view.truth(predicate)
    }

    /// Whether the first record comes before the second in the order of the query.
    package func isOrdered(_ first: StoredRecord, _ second: StoredRecord) -> Bool {
        var first = RecordView(first, query.joins, query.visibility, source)
        var second = RecordView(second, query.joins, query.visibility, source)
        return first.comesBefore(&second, by: query.sort)
    }
}

/// Where the interpreter finds other records than the one that it is asked about.
private struct RecordSources {
    let lookup: (RecordTypeName, String) -> StoredRecord?
    let all: (RecordTypeName) -> [StoredRecord]
    let isRelated: (UserID, ResolvedUserRelation) -> Bool
}

extension ResolvedPredicate {
    /// What it is for a record.
    ///
    /// For a predicate of which ``ResolvedQuery/isAboutRecordsAlone`` is true; any other finds no record but this one.
    package func truth(of record: StoredRecord) -> Truth {
        RecordView.truth(self, of: record)
    }

    /// What it is for an element of an array, which is nil where it is NULL, and of which alone it is.
    func truth(ofElement element: StoredValue?) -> Truth {
        RecordView.truth(self, ofElement: element)
    }
}

extension AccessScope {
    fileprivate func admits(_ record: StoredRecord, _ source: RecordSources) -> Bool {
        admits(record, isRelated: source.isRelated)
    }

    /// Whether the scope admits a record.
    ///
    /// - Parameter isRelated: whether the first user is something to the one of the relation.
    package func admits(_ record: StoredRecord, isRelated: (UserID, ResolvedUserRelation) -> Bool) -> Bool {
        admits(database: record.database, owner: record.owner, access: record.access) { field, user in
            record.names(user, in: field)
        } isRelated: { user, relation, owner in
            isRelated(owner, relation.resolved(of: user))
        }
    }
}

extension Subject.Relation {
    /// What the owner of a record is to a user whom an entry about the relation means.
    package func resolved(of user: UserID) -> ResolvedUserRelation {
        switch self {
        case .friend: ResolvedUserRelation(user: user, relation: .friend, direction: .mutual)
        case .follower: ResolvedUserRelation(user: user, relation: .follow, direction: .outward)
        case .followed: ResolvedUserRelation(user: user, relation: .follow, direction: .inward)
        }
    }
}

/// One record as a query sees it, with the records behind its references as far as they were asked for.
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
    /// Which records it is one of, seen from the conditions inside.
    private var scope = ResolvedColumn.Scope.query
    /// The records that the conditions around are about, the outermost first.
    private var around: [RecordView] = []
    /// The innermost element that a predicate is asked of.
    private var element: StoredValue?

    init(
        _ record: StoredRecord,
        _ joins: [ResolvedJoin],
        _ visibility: ResolvedVisibility,
        _ source: RecordSources
    ) {
        self.record = record
        self.joins = joins
        self.visibility = visibility
        self.source = source
        joined = Array(repeating: .notAsked, count: joins.count)
    }

    /// Whether the record comes before another one in an order.
    mutating func comesBefore(_ other: inout RecordView, by sort: [ResolvedSort]) -> Bool {
        for key in sort {
            let order: ValueOrder
            switch (value(of: key.column), other.value(of: key.column)) {
            case (nil, nil): continue
            case (nil, _?): return key.missingComesFirst
            case (_?, nil): return !key.missingComesFirst
            case (.scalar(let a)?, .scalar(let b)?): order = ValueOrder(a, b) ?? .same
            // Nothing else is sorted by.
            case (_?, _?): continue
            }
            guard order != .same else { continue }
            return order == (key.direction == .ascending ? .less : .greater)
        }
        return false
    }

    // MARK: Columns

    /// The value of a column as it is compared; nil where it is missing.
    mutating func value(of column: ResolvedColumn) -> StoredValue? {
        if let scope = column.scope, scope != self.scope {
            guard var view = around.first(where: { $0.scope == scope }) else { return nil }
            return view.value(of: column)
        }
        if case .element = column.place {
            return element.flatMap { $0.read(as: column.reading) }.flatMap(column.compared)
        }
        let source: StoredRecord
        if let join = column.join {
            guard let target = target(of: join) else { return nil }
            source = target
        } else {
            source = record
        }
        if let limit = column.limit {
            let isSeen = limit.reach.holds(isOwner: source.owner == limit.user) { source.names(limit.user, in: $0) }
            guard isSeen else { return nil }
        }
        if case .members(_, let type) = column.reading {
            return .scalar(.integer(Int64(records(of: type, in: source.value(of: column.place)).count)))
        }
        return source.value(of: column.place)?.read(as: column.reading).flatMap(column.compared)
    }

    /// The records whose ids a value has as its elements, as far as the caller may read them.
    private func records(of type: RecordTypeName, in value: StoredValue?) -> [StoredRecord] {
        (value?.elements ?? []).compactMap { element in
            guard case .scalar(.text(let id))? = element, let record = source.lookup(type, id),
                visibility.referenced(type).contains(where: { $0.admits(record, source) })
            else { return nil }
            return record
        }
    }

    private mutating func target(of join: Int) -> StoredRecord? {
        switch joined[join] {
        case .missing: return nil
        case .record(let target): return target
        case .notAsked: break
        }
        joined[join] = .missing
        let step = joins[join]
        guard case .scalar(.text(let id))? = value(of: step.reference), let target = source.lookup(step.target, id),
            visibility.referenced(step.target).contains(where: { $0.admits(target, source) })
        else { return nil }
        joined[join] = .record(target)
        return target
    }

    // MARK: Predicates

    mutating func truth(_ predicate: ResolvedPredicate) -> Truth {
        switch predicate {
        case .and(let parts): return first(.no, of: parts) ?? .yes
        case .or(let parts): return first(.yes, of: parts) ?? .no
        case .not(let part): return !truth(part)
        case .none(let parts): return Truth(first(.yes, of: parts) != .yes)
        case .unknown: return .unknown
        case .isMissing(let column): return Truth(value(of: column) == nil)
        case .isPresent(let column): return Truth(value(of: column) != nil)
        case .constant(let column, let isTrue): return value(of: column) == nil ? .unknown : Truth(isTrue)
        case .comparison(let column, let relation, let literal):
            guard case .scalar(let value)? = value(of: column), let order = ValueOrder(value, literal) else {
                return .unknown
            }
            return Truth(order.satisfies(relation))
        case .columns(let left, let relation, let right):
            guard case .scalar(let a)? = value(of: left), case .scalar(let b)? = value(of: right),
                let order = ValueOrder(a, b)
            else { return .unknown }
            return Truth(order.satisfies(relation))
        case .pattern(let column, let pattern):
            return text(of: column) { LikePattern(pattern).matches($0) }
        case .match(let column, let words):
            // Of a language the database has to say.
            if words.language.needsDatabase { return .unknown }
            return text(of: column) { words.matches($0) ?? false }
        case .regex(let column, let pattern):
            return text(of: column) { pattern.matches($0) }
        case .suffix(let column, let suffix):
            return text(of: column) {
                $0.utf8.count >= suffix.utf8.count && $0.utf8.suffix(suffix.utf8.count).elementsEqual(suffix.utf8)
            }
        case .substring(let column, let part):
            return text(of: column) { $0.holds(part) }
        case .isOneOf(let column, let list): return isOneOf(column, list)
        case .hasID(let column, let wireIDs):
            guard case .scalar(.text(let id))? = value(of: column) else { return wireIDs.isEmpty ? .no : .unknown }
            return Truth(column.idForms.contain(id, amongWireIDs: wireIDs))
        case .holdsText(let column, let text):
            guard case .json(let json)? = value(of: column) else { return .unknown }
            return Truth(json.holds(text))
        case .json(let column, let condition):
            if condition.isEmptyList { return .no }
            guard case .json(let json)? = value(of: column) else { return .unknown }
            return condition.holds(for: json).map { Truth($0) } ?? .unknown
        case .array(let column, let relation, let list): return array(column, relation, list)
        case .place(let column, let place):
            switch value(of: column) {
            case .scalar(.location(let location))?: return Truth(place.holds(for: location))
            case .scalar(.geometry(let geometry))?: return place.holds(for: geometry).map { Truth($0) } ?? .unknown
            default: return .unknown
            }
        case .covers(let column, let location):
            guard case .scalar(.geometry(let geometry))? = value(of: column) else { return .unknown }
            return Truth(geometry.covers(location))
        case .isFound(let column, let query): return isFound(column, by: query)
        case .isNotFound(let column, let query):
            return value(of: column) == nil ? .unknown : !isFound(column, by: query)
        case .isMember(let column, let owner): return Truth(isMember(column, of: owner))
        case .isRelated(let column, let relation):
            guard case .scalar(.text(let id))? = value(of: column) else { return .no }
            return Truth(source.isRelated(UserID(id), relation))
        case .any(let elements): return Truth(holds(elements) { $0.contains(.yes) })
        case .all(let elements): return Truth(holds(elements) { $0.allSatisfy { $0 == .yes } })
        case .hasEach(let elements): return Truth(hasEach(elements))
        }
    }

    static func truth(_ predicate: ResolvedPredicate, ofElement element: StoredValue?) -> Truth {
        var view = RecordView(alone: StoredRecord(type: .user, storedID: ""))
        view.element = element
        return view.truth(predicate)
    }

    static func truth(_ predicate: ResolvedPredicate, of record: StoredRecord) -> Truth {
        var view = RecordView(alone: record)
        return view.truth(predicate)
    }

    /// A record beside which there is no other.
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

    /// Whether something is so of what a predicate is for each of some elements.
    private mutating func holds(_ elements: ResolvedElements, _ isSo: ([Truth]) -> Bool) -> Bool {
        let value = value(of: elements.column)
        guard let records = elements.records else {
            return isSo(
                (value?.elements ?? []).map { value in
                    var view = self
                    view.element = value
                    return view.truth(elements.predicate)
                }
            )
        }
        return isSo(
            self.records(of: records.type, in: value).map { record in
                var view = inside(record, records.joins, number: records.number)
                return view.truth(elements.predicate)
            }
        )
    }

    /// A record that a condition inside of this one is about.
    private func inside(_ record: StoredRecord, _ joins: [ResolvedJoin], number: Int) -> RecordView {
        var view = RecordView(record, joins, visibility, source)
        view.scope = .inside(number)
        view.around = around + [self]
        return view
    }

    private mutating func hasEach(_ elements: ResolvedElements) -> Bool {
        guard let records = elements.records, case .hasID(let column, let ids) = elements.predicate else {
            return false
        }
        let value = value(of: elements.column)
        let members = self.records(of: records.type, in: value)
        return ids.allSatisfy { id in
            members.contains { column.idForms.contain($0.storedID, amongWireIDs: [id]) }
        }
    }

    private mutating func isMember(_ column: ResolvedColumn, of owner: ResolvedOwner) -> Bool {
        guard case .scalar(.text(let id))? = value(of: column) else { return false }
        return source.all(owner.type).contains { record in
            guard owner.idColumn.idForms.contain(record.storedID, amongWireIDs: [owner.wireID]),
                visibility.referenced(owner.type).contains(where: { $0.admits(record, source) })
            else { return false }
            var view = RecordView(record, [], visibility, source)
            return (view.value(of: owner.relation)?.elements ?? []).contains { element in
                if case .scalar(.text(let member))? = element { member.isSameText(as: id) } else { false }
            }
        }
    }

    private mutating func isFound(_ column: ResolvedColumn, by query: ResolvedSubquery) -> Truth {
        let found = values(of: query)
        let value = value(of: column)
        // As in SQL: nothing is among no values, but an array that is missing shares no elements with anything.
        if found.isEmpty {
            if case .array = column.kind, value == nil { return .unknown }
            return .no
        }
        switch value {
        case nil: return .unknown
        case .scalar(let value)?: return Truth(found.contains { ValueOrder($0, value) == .same })
        case .array(let elements)?:
            return Truth(
                elements.contains { element in
                    element.map { element in found.contains { ValueOrder($0, element) == .same } } ?? false
                }
            )
        case .json?, .opaque?: return .unknown
        }
    }

    /// The values of a query's key in the records that the caller may read and for which its predicate holds.
    private func values(of query: ResolvedSubquery) -> [ResolvedLiteral] {
        var views = source.all(query.type).compactMap { record -> RecordView? in
            guard visibility.referenced(query.type).contains(where: { $0.admits(record, source) }) else { return nil }
            var view = inside(record, query.joins, number: query.number)
            return query.predicate.map { view.truth($0) == .yes } ?? true ? view : nil
        }
        if let first = query.first {
            views.sort { a, b in
                var (a, b) = (a, b)
                return a.comesBefore(&b, by: first.sort)
            }
            views = Array(views.prefix(first.limit))
        }
        return views.compactMap { view in
            var view = view
            guard case .scalar(let value)? = view.value(of: query.key) else { return nil }
            return value
        }
    }

    private mutating func array(_ column: ResolvedColumn, _ relation: ArrayRelation, _ list: ResolvedList) -> Truth {
        guard case .array(let stored)? = value(of: column) else { return .unknown }
        let elements = column.idForms == .plain ? stored : stored.map { $0?.wireForm(in: column.kind) }
        let values = list.literals
        func isSame(_ element: ResolvedLiteral?, _ value: ResolvedLiteral) -> Bool {
            element.flatMap { ValueOrder($0, value) } == .same
        }
        switch relation {
        case .equal:
            return Truth(elements.count == values.count && zip(elements, values).allSatisfy { isSame($0, $1) })
        case .holdsAll: return Truth(values.allSatisfy { value in elements.contains { isSame($0, value) } })
        case .holdsAny: return Truth(values.contains { value in elements.contains { isSame($0, value) } })
        case .heldBy: return Truth(elements.allSatisfy { element in values.contains { isSame(element, $0) } })
        }
    }

    private mutating func text(of column: ResolvedColumn, _ holds: (String) -> Bool) -> Truth {
        guard case .scalar(.text(let text))? = value(of: column) else { return .unknown }
        return Truth(holds(text))
    }

    /// Whether one of some predicates has this truth; unknown where none has and one is unknown, nil otherwise.
    private mutating func first(_ decisive: Truth, of parts: [ResolvedPredicate]) -> Truth? {
        var result: Truth?
        for part in parts {
            let truth = truth(part)
            if truth == decisive { return decisive }
            if truth == .unknown { result = .unknown }
        }
        return result
    }

    private mutating func isOneOf(_ column: ResolvedColumn, _ list: ResolvedList) -> Truth {
        guard let value = value(of: column) else {
            return list.isEmpty ? .no : .unknown
        }
        guard case .scalar(let scalar) = value else { return .unknown }
        switch (scalar, list) {
        case (.text(let text), .texts(let list)): return Truth(list.contains { $0.isSameText(as: text) })
        case (.integer(let integer), .integers(let list)): return Truth(list.contains(integer))
        case (.number(let number), .numbers(let list)):
            return Truth(list.contains { ValueOrder(numbers: $0, number) == .same })
        case (.decimal(let number), .decimals(let list)): return Truth(list.contains(number))
        case (.boolean(let flag), .booleans(let list)): return Truth(list.contains(flag))
        case (.datetime(let instant), .datetimes(let list)): return Truth(list.contains(instant))
        case (.bytes(let bytes), .bytes(let list)): return Truth(list.contains(bytes))
        case (.location(let location), .locations(let list)):
            return Truth(list.contains { $0.isSame(as: location) })
        default: return .unknown
        }
    }
}

extension ResolvedColumn {
    /// A value of the column as it is compared.
    fileprivate func compared(_ value: StoredValue) -> StoredValue? {
        guard readsWireID || folds, case .scalar(.text(let stored)) = value else { return value }
        let text = readsWireID ? StoredID.wireID(of: stored) : stored
        return .scalar(.text(folds ? TextFolding.fold(text) : text))
    }
}

extension ResolvedLiteral {
    /// The id that clients see where the value is an element of an array of references.
    fileprivate func wireForm(in kind: ValueKind) -> ResolvedLiteral {
        guard case .array(.reference) = kind, case .text(let id) = self else { return self }
        return .text(StoredID.wireID(of: id))
    }
}

extension ResolvedList {
    /// The values of the list, each as a literal of its own.
    package var literals: [ResolvedLiteral] {
        switch self {
        case .texts(let list): list.map { .text($0) }
        case .integers(let list): list.map { .integer($0) }
        case .numbers(let list): list.map { .number($0) }
        case .decimals(let list): list.map { .decimal($0) }
        case .booleans(let list): list.map { .boolean($0) }
        case .datetimes(let list): list.map { .datetime($0) }
        case .bytes(let list): list.map { .bytes($0) }
        case .locations(let list): list.map { .location($0) }
        }
    }

    /// Nothing is one of no values, not even what is missing.
    fileprivate var isEmpty: Bool { count == 0 }
}

extension StoredIDForms {
    fileprivate func contain(_ stored: String, amongWireIDs wireIDs: [String]) -> Bool {
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
