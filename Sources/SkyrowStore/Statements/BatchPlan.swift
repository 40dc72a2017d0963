package import SkyrowModel
internal import SkyrowPostgres
package import SkyrowProtocol

/// How the records of a request are written: which of them share a statement, and in what order.
///
/// Records of one type and shape form a group, which is one statement. A group follows the groups that it refers to. Groups that
/// refer to each other form one unit, which is written in one transaction with deferred foreign keys. Records with the same id
/// are in successive groups.
package struct BatchPlan: Sendable {
    /// Records written by one statement.
    package struct Group: Sendable {
        package let table: RecordTable
        package let shape: SaveShape
        /// Positions in ``BatchPlan/writes``, in the order of the request; with operators, in the order of the ids.
        package var members: [Int]
    }

    package private(set) var writes: [RecordWrite] = []
    /// The items that are refused before any statement runs, by position in the request.
    package private(set) var failures: [Int: (error: SkyrowError, id: String?)] = [:]
    /// The ids of the request by position, temporary ones resolved; nil for items that could not be decoded.
    package private(set) var ids: [RecordID?] = []
    /// The units in the order in which they are written.
    package private(set) var units: [[Group]] = []
    /// The ids that replace the temporary ids of the request.
    package private(set) var freshIDs: [RecordID: RecordID]
    /// Whether the schema would have to change for one of the records: its type, a field or the type of a field does not match
    /// the catalog (``SchemaPlan``).
    package private(set) var lacksSchema = false

    /// For each write, the writes that must precede it: those that it refers to, and the previous one with the same id.
    private var dependencies: [[Int]] = []
    /// The first and the last write of each id. Filled from the second write on, since most requests have one.
    private var writesOfIDs: [RecordID: (first: Int, last: Int)] = [:]
    /// The writes that set a reference field.
    private var referring: [Int] = []
    private let database: DatabaseScope
    /// The access with which conditions on stored records are evaluated.
    private let access: RecordAccess?

    /// Plans a request.
    ///
    /// - Parameters:
    ///   - mode: in development mode, an operator with a fraction turns an integer field into a number field.
    ///   - maximumAccessEntries: the most entries that an access list may have.
    ///   - freshIDs: the temporary ids (`post/$1`) that already have an id.
    ///   - access: the access with which conditions on stored records are evaluated; a draft with a condition requires it.
    ///   - makeID: returns a new id for each other temporary id.
    package init(
        _ items: [SaveRequest.Item],
        catalog: SchemaCatalog,
        database: DatabaseScope,
        mode: SchemaMode = .development,
        maximumAccessEntries: Int = AccessList.defaultMaximum,
        freshIDs: [RecordID: RecordID] = [:],
        access: RecordAccess? = nil,
        makeID: () -> String
    ) {
        self.database = database
        self.access = access
        var freshIDs = freshIDs
        for place in items.indices {
            guard case .draft(let draft) = items[place], draft.id.isTemporary, freshIDs[draft.id] == nil
            else { continue }
            freshIDs[draft.id] = try? RecordID(type: draft.id.type, id: makeID())
        }
        self.freshIDs = freshIDs
        ids.reserveCapacity(items.count)
        writes.reserveCapacity(items.count)
        dependencies.reserveCapacity(items.count)
        if items.count > 1 { writesOfIDs.reserveCapacity(items.count) }
        var last: (table: RecordTable, layout: DraftLayout)?
        for index in items.indices {
            switch items[index] {
            case .failure(let error, let id):
                ids.append(nil)
                failures[index] = (error, id)
            case .draft(let draft):
                let id = freshIDs[draft.id] ?? draft.id
                ids.append(id)
                do throws(SkyrowError) {
                    try add(draft, id: id, index: index, catalog: catalog, maximumAccessEntries, last: &last)
                } catch {
                    failures[index] = (error, id.description)
                    if Self.lacksSchema(draft, catalog, mode) { lacksSchema = true }
                }
            }
        }
        for position in referring {
            var others: [Int] = []
            _ = writes[position].refers { target in
                if let first = firstWrite(of: target), first != position { others.append(first) }
                return false
            }
            dependencies[position] += others
        }
        units = groups(of: Array(writes.indices))
    }

    /// The position of the first write of a record; nil if the request does not write it.
    package func firstWrite(of id: RecordID) -> Int? {
        if writes.count == 1 { return writes[0].id == id ? 0 : nil }
        return writesOfIDs[id]?.first
    }

    /// Records a write, and returns the first and the last earlier write of the same id.
    private mutating func noteWrite(of id: RecordID, at position: Int) -> (first: Int, last: Int)? {
        if position == 0 { return nil }
        if position == 1 { writesOfIDs[writes[0].id] = (0, 0) }
        let before = writesOfIDs.updateValue((first: position, last: position), forKey: id)
        if let before { writesOfIDs[id] = (before.first, position) }
        return before
    }

    /// Whether one of these writes refers to another of them.
    package func hasReferences(among positions: [Int]) -> Bool {
        !referring.isEmpty && hasReferences(from: positions, to: Set(positions))
    }

    /// Whether one of the writes at `positions` refers to one of `targets` other than itself.
    package func hasReferences(from positions: [Int], to targets: Set<Int>) -> Bool {
        positions.contains { position in
            writes[position].refers { id in
                guard id != writes[position].id, let target = firstWrite(of: id) else { return false }
                return targets.contains(target)
            }
        }
    }

    /// Makes the writes change existing records without creating any (``RecordWrite/tryAsChange()``).
    package mutating func tryAsChanges(_ positions: [Int]) {
        for position in positions { writes[position].tryAsChange() }
    }

    /// Lets the write create its record, after there was no record to change.
    package mutating func tryAsUpsert(_ position: Int) {
        writes[position].tryAsUpsert()
    }

    /// Makes the write leave the stored access list as it is.
    package mutating func keepAccess(of position: Int) {
        writes[position].keepAccess()
    }

    /// Divides writes into the smallest parts that can be written one after the other, each without the later ones. Used to find
    /// the record that makes a statement fail.
    package func components(of positions: [Int]) -> [[Int]] {
        let places = Dictionary(uniqueKeysWithValues: positions.enumerated().map { ($1, $0) })
        let edges = positions.map { position in dependencies[position].compactMap { places[$0] } }
        return stronglyConnectedComponents(edges: edges).map { component in component.map { positions[$0] } }
    }

    /// The units that write the given records.
    package func units(writing positions: [Int]) -> [[Group]] {
        groups(of: positions)
    }

    private func groups(of positions: [Int]) -> [[Group]] {
        struct Key: Hashable {
            var type: RecordTypeName
            var round: Int
            var shape: SaveShape
        }
        func key(_ position: Int) -> Key {
            Key(type: writes[position].table.name, round: writes[position].round, shape: writes[position].shape)
        }
        var groups: [Group] = []
        // Filled from the second group on; most requests have one.
        var places: [Key: Int] = [:]
        var last = 0
        for position in positions {
            if let other = groups.isEmpty ? nil : groups[last].members.first,
                writes[other].round == writes[position].round, groups[last].table === writes[position].table,
                groups[last].shape == writes[position].shape, !groups[last].shape.isAlone
            {
                groups[last].members.append(position)
                continue
            }
            if groups.count == 1 { places[key(groups[0].members[0])] = 0 }
            let isAlone = writes[position].shape.isAlone
            last = groups.isEmpty ? 0 : isAlone ? groups.count : places[key(position)] ?? groups.count
            if last == groups.count {
                groups.append(Group(table: writes[position].table, shape: writes[position].shape, members: []))
                if last > 0, !isAlone { places[key(position)] = last }
            }
            groups[last].members.append(position)
        }
        // Several requests may apply operators to the same records at once. Statements that lock rows in the same order wait for
        // each other instead of ending in a deadlock.
        for place in groups.indices where !groups[place].shape.operators.isEmpty {
            groups[place].members.sort {
                writes[$0].id.id.utf8.lexicographicallyPrecedes(writes[$1].id.id.utf8)
            }
        }
        guard groups.count > 1 else { return groups.map { [$0] } }
        var groupOf: [Int: Int] = [:]
        for (place, group) in groups.enumerated() {
            for position in group.members { groupOf[position] = place }
        }
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

    private static func lacksSchema(_ draft: RecordDraft, _ catalog: SchemaCatalog, _ mode: SchemaMode) -> Bool {
        guard let table = catalog[draft.id.type] else { return true }
        let lacksField = draft.fields.contains { field in
            guard let column = table[field.name] else { return field.value != .null }
            return !column.isWritable || column.type.admission(of: field.value) != .fits
        }
        return lacksField
            || draft.operators.contains { field in
                guard let column = table[field.name] else { return field.change.fieldType != nil }
                return mode == .development && column.takesWidened(field.change)
            }
    }

    /// - Parameter last: the table and layout of the previous draft, replaced by those of this draft.
    private mutating func add(
        _ draft: RecordDraft,
        id: RecordID,
        index: Int,
        catalog: SchemaCatalog,
        _ maximumAccessEntries: Int,
        last: inout (table: RecordTable, layout: DraftLayout)?
    ) throws(SkyrowError) {
        let known = last.flatMap { $0.table.name == id.type ? $0 : nil }
        guard let table = known?.table ?? catalog[id.type] else {
            throw SkyrowError(.incompatibleSchema, "The record type of this record does not exist.")
        }
        if let refusal = access.map({ table.rules.refusal(saving: draft, with: $0) })
            ?? table.rules.refusal(saving: draft, in: database)
        {
            throw refusal
        }
        let layout: DraftLayout
        if let known, known.layout.fits(draft) {
            layout = known.layout
        } else {
            layout = try table.layouts.layout(of: draft, in: table)
            last = (table, layout)
        }
        let set = try layout.values(of: draft, in: table, freshIDs)
        try draft.access?.requireStorable(maximumEntries: maximumAccessEntries)
        let operated =
            draft.operators.isEmpty ? nil : try OperatedColumns(of: draft, in: table, beside: set, freshIDs)
        let condition = try draft.condition.map { predicate throws(SkyrowError) in
            try SaveCondition.sql(predicate, of: draft, on: table, in: catalog, access)
        }
        let position = writes.count
        if operated?.hasReferences ?? layout.hasReferences { referring.append(position) }
        let before = noteWrite(of: id, at: position)
        dependencies.append(before.map { [$0.last] } ?? [])
        writes.append(
            RecordWrite(
                index: index,
                id: id,
                table: table,
                access: draft.access,
                precondition: draft.precondition,
                columns: operated?.columns ?? set.columns,
                values: operated?.values ?? set.values,
                round: before.map { writes[$0.last].round + 1 } ?? 0,
                operators: operated?.operators ?? [],
                insertRefusal: access.flatMap { table.rules.refusalOfCreating(draft, with: $0) }
                    ?? operated?.insertRefusal,
                condition: condition,
                trusted: draft.trusted
            )
        )
    }
}

extension AccessList {
    /// Throws `108 InvalidArgument` for a list with too many entries, for a name that no user or role can have, and for a subject
    /// that would admit no one. `info.path` names the list or its entry.
    func requireStorable(maximumEntries: Int) throws(SkyrowError) {
        guard entries.count <= maximumEntries else {
            throw SkyrowError.invalidArgument("An access list can have at most \(maximumEntries) entries.", "_access")
                .at("_access")
        }
        for entry in entries {
            if let refusal = entry.subject.refusal {
                throw SkyrowError.invalidArgument(refusal, "_access").at("_access.\(entry.subject.member)")
            }
        }
    }
}

extension Subject {
    /// The reason why an access list cannot name the subject; nil if it can.
    fileprivate var refusal: String? {
        switch self {
        case .everyone, .users, .registered, .verified, .owner, .relation: break
        case .user, .role, .group, .apiKey:
            guard let name else { break }
            if name.hasNUL { return "An access list cannot contain NUL." }
            if name.utf8.count > AccessList.maximumNameLength {
                return
                    "A user id, role, group or key in an access list can have at most \(AccessList.maximumNameLength) bytes."
            }
        case .field: return "An access list cannot name a field."
        }
        return nil
    }
}
