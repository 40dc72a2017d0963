package import SkyrowModel

/// How the records of a request are written: which go into one statement, and in what order.
///
/// Records of one type and shape make a group, which is one statement. A group comes after those it refers to; groups
/// that refer to each other make one unit, which is written in one transaction with its foreign keys deferred. Of
/// records with the same id each is in a later group than the one before.
package struct BatchPlan: Sendable {
    /// Records written by one statement.
    package struct Group: Sendable {
        package let table: RecordTable
        package let shape: SaveShape
        /// Positions in ``BatchPlan/writes``, in the order of the request.
        package var members: [Int]
    }

    package private(set) var writes: [RecordWrite] = []
    /// What is refused before anything is asked, by its place in the request.
    package private(set) var failures: [Int: (error: SkyrowError, id: String?)] = [:]
    /// The ids of the request, temporary ones resolved, by their place; nil for what could not be read.
    package private(set) var ids: [RecordID?] = []
    /// What to write, one unit after another.
    package private(set) var units: [[Group]] = []
    /// The ids that the temporary ones of the request stand for.
    package private(set) var freshIDs: [RecordID: RecordID]
    /// Whether a record names a type or field that the catalogue does not have.
    package private(set) var lacksSchema = false

    /// The writes each write has to come after, since it refers to them or comes after one of the same id.
    private var dependencies: [[Int]] = []
    /// The first write of each id.
    private var firstWrites: [RecordID: Int] = [:]
    private let database: DatabaseScope

    /// Plans a request.
    ///
    /// - Parameters:
    ///   - maximumAccessEntries: how many entries an access list may have.
    ///   - freshIDs: what temporary ids (`post/$1`) stand for already.
    ///   - makeID: gives a fresh id for each other temporary one.
    package init(
        _ items: [SaveRequest.Item],
        catalog: SchemaCatalog,
        database: DatabaseScope,
        maximumAccessEntries: Int = AccessList.defaultMaximum,
        freshIDs: [RecordID: RecordID] = [:],
        makeID: () -> String
    ) {
        self.database = database
        var freshIDs = freshIDs
        for item in items {
            guard case .draft(let draft) = item, draft.id.isTemporary, freshIDs[draft.id] == nil else { continue }
            freshIDs[draft.id] = try? RecordID(type: draft.id.type, id: makeID())
        }
        self.freshIDs = freshIDs
        var rounds: [RecordID: Int] = [:]
        var lastWrites: [RecordID: Int] = [:]
        for (index, item) in items.enumerated() {
            switch item {
            case .failure(let error, let id):
                ids.append(nil)
                failures[index] = (error, id)
            case .draft(let draft):
                let id = freshIDs[draft.id] ?? draft.id
                ids.append(id)
                do throws(SkyrowError) {
                    let write = try Self.write(
                        draft,
                        id: id,
                        index: index,
                        round: rounds[id, default: 0],
                        catalog: catalog,
                        database: database,
                        freshIDs: freshIDs,
                        maximumAccessEntries: maximumAccessEntries
                    )
                    rounds[id, default: 0] += 1
                    if firstWrites[id] == nil { firstWrites[id] = writes.count }
                    dependencies.append(lastWrites[id].map { [$0] } ?? [])
                    lastWrites[id] = writes.count
                    writes.append(write)
                } catch {
                    failures[index] = (error, id.description)
                    if Self.lacksSchema(draft, catalog) { lacksSchema = true }
                }
            }
        }
        for position in writes.indices {
            for value in writes[position].values {
                guard case .reference(let target) = value, let first = firstWrites[target], first != position else {
                    continue
                }
                dependencies[position].append(first)
            }
        }
        units = groups(of: Array(writes.indices))
    }

    /// The position of the first write of a record, nil when the request does not write it.
    package func firstWrite(of id: RecordID) -> Int? {
        firstWrites[id]
    }

    /// Whether one of these writes refers to another one of them.
    package func hasReferences(among positions: [Int]) -> Bool {
        hasReferences(from: positions, to: Set(positions))
    }

    /// Whether one of some writes refers to one of others, itself apart.
    package func hasReferences(from positions: [Int], to targets: Set<Int>) -> Bool {
        positions.contains { position in
            writes[position].values.contains { value in
                guard case .reference(let id) = value, id != writes[position].id, let target = firstWrites[id] else {
                    return false
                }
                return targets.contains(target)
            }
        }
    }

    /// Leaves the access list of a record as it is stored.
    package mutating func keepAccess(of position: Int) {
        writes[position].access = nil
    }

    /// Parts some writes so that each part can be written without those after it, in an order in which they can be
    /// written: the finest division for finding the record that spoils a statement.
    package func components(of positions: [Int]) -> [[Int]] {
        let places = Dictionary(uniqueKeysWithValues: positions.enumerated().map { ($1, $0) })
        let edges = positions.map { position in dependencies[position].compactMap { places[$0] } }
        return stronglyConnectedComponents(edges: edges).map { component in component.map { positions[$0] } }
    }

    /// The units that write some of the records.
    package func units(writing positions: [Int]) -> [[Group]] {
        groups(of: positions)
    }

    private func groups(of positions: [Int]) -> [[Group]] {
        struct Key: Hashable {
            var type: RecordTypeName
            var round: Int
            var shape: SaveShape
        }
        var groups: [Group] = []
        var places: [Key: Int] = [:]
        var groupOf: [Int: Int] = [:]
        for position in positions {
            let write = writes[position]
            let key = Key(type: write.table.name, round: write.round, shape: write.shape)
            let place = places[key] ?? groups.count
            if place == groups.count {
                groups.append(Group(table: write.table, shape: key.shape, members: []))
                places[key] = place
            }
            groups[place].members.append(position)
            groupOf[position] = place
        }
        guard groups.count > 1 else { return groups.map { [$0] } }
        var edges = [Set<Int>](repeating: [], count: groups.count)
        for position in positions {
            guard let place = groupOf[position] else { continue }
            for dependency in dependencies[position] {
                if let other = groupOf[dependency], other != place { edges[place].insert(other) }
            }
        }
        return stronglyConnectedComponents(edges: edges.map { $0.sorted() }).map { component in
            component.sorted { (a, b) in
                let (first, second) = (groups[a].members[0], groups[b].members[0])
                return (writes[first].round, first) < (writes[second].round, second)
            }.map { groups[$0] }
        }
    }

    private static func lacksSchema(_ draft: RecordDraft, _ catalog: SchemaCatalog) -> Bool {
        guard let table = catalog[draft.id.type] else { return true }
        return draft.fields.contains { $0.value != .null && table[$0.name] == nil }
    }

    private static func write(
        _ draft: RecordDraft,
        id: RecordID,
        index: Int,
        round: Int,
        catalog: SchemaCatalog,
        database: DatabaseScope,
        freshIDs: [RecordID: RecordID],
        maximumAccessEntries: Int
    ) throws(SkyrowError) -> RecordWrite {
        guard let table = catalog[id.type] else {
            throw SkyrowError(.incompatibleSchema, "There is no record type of this name.")
        }
        if let refusal = table.rules.refusal(saving: draft, in: database) { throw refusal }
        var columns: [(place: Int, value: RecordValue)] = []
        for field in draft.fields {
            guard let place = table.position(of: field.name) else {
                // Nothing is there to be unset.
                if case .null = field.value { continue }
                throw SkyrowError(
                    .incompatibleSchema,
                    "There is no field of this name in the record type.",
                    info: ["arguments": .list([.string(field.name.rawValue)])]
                )
            }
            let value = try field.value.resolved { target throws(SkyrowError) in
                guard let fresh = freshIDs[target] else {
                    throw .invalidArgument("A temporary id is referred to, but no record has it.", field.name.rawValue)
                }
                return fresh
            }
            if let value = try table.columns[place].accepted(value) { columns.append((place, value)) }
        }
        columns.sort { $0.place < $1.place }
        try draft.access?.requireStorable(maximumEntries: maximumAccessEntries)
        return RecordWrite(
            index: index,
            id: id,
            table: table,
            access: draft.access,
            precondition: draft.precondition,
            columns: columns.map(\.place),
            values: columns.map(\.value),
            round: round
        )
    }
}

extension RecordValue {
    /// The value with the ids that the temporary ones in it stand for.
    fileprivate func resolved(
        _ resolve: (RecordID) throws(SkyrowError) -> RecordID
    ) throws(SkyrowError) -> RecordValue {
        switch self {
        case .reference(let target) where target.isTemporary: .reference(try resolve(target))
        case .json(let text): .json(try text.resolved(resolve))
        default: self
        }
    }
}

extension AccessList {
    /// Throws `108 InvalidArgument` for a list with too many entries, and for a name that no user or role can have.
    fileprivate func requireStorable(maximumEntries: Int) throws(SkyrowError) {
        guard entries.count <= maximumEntries else {
            throw .invalidArgument("An access list has at most \(maximumEntries) entries.", "_access")
        }
        for entry in entries {
            guard let name = entry.subject.name else { continue }
            guard !name.utf8.contains(0) else {
                throw .invalidArgument("An access list cannot hold NUL characters.", "_access")
            }
            guard name.utf8.count <= AccessList.maximumNameLength else {
                throw .invalidArgument(
                    "A user id or role in an access list has at most \(AccessList.maximumNameLength) bytes.",
                    "_access"
                )
            }
        }
    }
}

extension AccessSubject {
    fileprivate var name: String? {
        switch self {
        case .everyone, .owner: nil
        case .user(let id): id.rawValue
        case .role(let name): name.rawValue
        }
    }
}
