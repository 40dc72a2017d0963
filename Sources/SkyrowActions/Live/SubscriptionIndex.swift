import SkyrowModel
import SkyrowQuery

/// Finds the groups of subscriptions that a change may concern, by the values of the record.
///
/// A group whose predicate requires certain values of a field is found by a hash lookup, independent of the number of groups. A
/// group without such a term is judged for every change of the type, so the number of these is bounded.
struct SubscriptionIndex {
    /// The number of a group in its owner's table.
    typealias Group = Int

    /// The groups of a value, mostly one.
    private enum Groups {
        case one(Group)
        case several(Set<Group>)

        mutating func insert(_ group: Group) {
            switch self {
            case .one(group): break
            case .one(let other): self = .several([other, group])
            case .several(var groups):
                self = .one(group)
                groups.insert(group)
                self = .several(groups)
            }
        }

        /// Removes a group; returns true if no group is left.
        mutating func remove(_ group: Group) -> Bool {
            switch self {
            case .one(let only): return only == group
            case .several(var groups):
                self = .one(group)
                groups.remove(group)
                if groups.count == 1, let only = groups.first { self = .one(only) } else { self = .several(groups) }
                return groups.isEmpty
            }
        }

        func add(to found: inout Set<Group>) {
            switch self {
            case .one(let group): found.insert(group)
            case .several(let groups): found.formUnion(groups)
            }
        }
    }

    private struct TypeIndex {
        /// By the hash of the value; a collision adds a candidate, which is then judged.
        var keyed: [SubscriptionTerm.Place: [Int: Groups]] = [:]
        var scanned: Set<Group> = []

        var isEmpty: Bool { keyed.isEmpty && scanned.isEmpty }
    }

    /// Upper bound on the groups without a term, by type and database.
    let scanLimit: Int
    private var databases: [DatabaseScope: [RecordTypeName: TypeIndex]] = [:]

    init(scanLimit: Int) {
        self.scanLimit = scanLimit
    }

    /// Returns the databases of the groups of a type.
    func databases(of type: RecordTypeName) -> [DatabaseScope] {
        databases.filter { $0.value[type] != nil }.map(\.key)
    }

    /// The number of groups that every change of their type is judged for.
    var scannedCount: Int { databases.values.reduce(0) { $0 + $1.values.reduce(0) { $0 + $1.scanned.count } } }

    /// Returns whether a predicate is judged for every change of the type.
    static func isScanned(_ predicate: ResolvedPredicate?) -> Bool {
        predicate.flatMap { SubscriptionTerms($0) } == nil
    }

    /// Returns whether there is room for a further group of a predicate.
    func hasRoom(in database: DatabaseScope, of type: RecordTypeName, for predicate: ResolvedPredicate?) -> Bool {
        guard Self.isScanned(predicate) else { return true }
        return (databases[database]?[type]?.scanned.count ?? 0) < scanLimit
    }

    mutating func insert(
        _ group: Group,
        in database: DatabaseScope,
        of type: RecordTypeName,
        _ predicate: ResolvedPredicate?
    ) {
        var index = databases[database]?[type] ?? TypeIndex()
        databases[database]?[type] = nil
        if let terms = predicate.flatMap({ SubscriptionTerms($0) }) {
            for term in terms.terms {
                index.keyed[term.place, default: [:]][term.value.hashValue, default: .one(group)].insert(group)
            }
        } else {
            index.scanned.insert(group)
        }
        databases[database, default: [:]][type] = index
    }

    mutating func remove(
        _ group: Group,
        in database: DatabaseScope,
        of type: RecordTypeName,
        _ predicate: ResolvedPredicate?
    ) {
        guard var index = databases[database]?[type] else { return }
        databases[database]?[type] = nil
        if let terms = predicate.flatMap({ SubscriptionTerms($0) }) {
            for term in terms.terms {
                let hash = term.value.hashValue
                if index.keyed[term.place]?[hash]?.remove(group) == true { index.keyed[term.place]?[hash] = nil }
                if index.keyed[term.place]?.isEmpty == true { index.keyed[term.place] = nil }
            }
        } else {
            index.scanned.remove(group)
        }
        if !index.isEmpty { databases[database]?[type] = index }
        if databases[database]?.isEmpty == true { databases[database] = nil }
    }

    /// Returns the groups whose predicates may match one of some versions of a record.
    func candidates(of type: RecordTypeName, _ records: some Sequence<StoredRecord>) -> Set<Group> {
        var found: Set<Group> = []
        for record in records {
            add(databases[record.database]?[type], record, to: &found)
            add(databases[.union]?[type], record, to: &found)
        }
        return found
    }

    private func add(_ index: TypeIndex?, _ record: StoredRecord, to found: inout Set<Group>) {
        guard let index else { return }
        // These are mostly all results, so the set is assigned without a copy.
        if found.isEmpty { found = index.scanned } else if found != index.scanned { found.formUnion(index.scanned) }
        for (place, values) in index.keyed {
            record.forEachTerm(at: place) { value in
                if let groups = values[value.hashValue] { groups.add(to: &found) }
            }
        }
    }
}

extension SkyrowError {
    /// `135` for a query without an indexable term when the type has reached its limit.
    ///
    /// - Parameter references: the reference fields of the type.
    static func tooManyScans(of type: RecordTypeName, limit: Int, references: [FieldName]) -> SkyrowError {
        let fields = (["_id", "_owner"] + references.prefix(3).map(\.rawValue)).joined(separator: ", ")
        return SkyrowError(
            .overloaded,
            "The service has reached its limit of \(limit) live queries of \(type) that are compared with every change: "
                + "restrict a field, preferably \(fields), to certain values with \"eq\", \"in\" or \"contains\"."
        )
    }
}
