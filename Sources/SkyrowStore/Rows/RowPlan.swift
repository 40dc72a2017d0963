internal import SkyrowConcurrency
internal import SkyrowModel
internal import SkyrowPostgres

/// Maps the columns of a statement's rows to the members of a record, in the order of the wire form.
package final class RowPlan: Sendable {
    struct Member: Sendable {
        let key: MemberKey
        let kind: Kind
        /// The record type of an id or a reference, or the SQL type of an unknown column.
        let name: String
        let column: Int
        /// nil for a field.
        var reserved: ReservedColumn?
        /// In which records the value is visible; nil for all records.
        var reach: AccessCondition?
    }

    /// A member without reference-counted properties (see ``BorrowedKey``).
    struct LentMember: Sendable {
        /// The ranges of key and name in the texts of the plan.
        fileprivate let key: Range<Int>
        fileprivate let name: Range<Int>
        let column: Int
        let kind: Kind
        /// The index of the visibility condition in the plan; -1 for a value that is visible in all records.
        let reach: Int
    }

    /// A record that is included from the same row.
    struct Inclusion: Sendable {
        let name: String
        /// nil if a number or null is included instead of a record.
        let plan: RowPlan?
        /// The column of that number.
        var number: Int?
    }

    let members: [Member]
    let lentMembers: SharedArray<LentMember>
    let inclusions: [Inclusion]
    /// The column of the stored id, which is NULL if the row has no record.
    let idColumn: Int
    /// The column of the record's owner.
    let ownerColumn: Int
    /// The distinct visibility conditions.
    let reaches: [AccessCondition]
    /// The bits of the conditions that only require the reader to own the record, as most do.
    let ownersReaches: UInt64
    /// The other conditions with their bits.
    let otherReaches: [(bit: UInt64, reach: AccessCondition)]
    /// The columns of the fields that these conditions refer to.
    let namedColumns: [FieldName: Int]
    /// In which records the whole access list is visible.
    let list: AccessCondition
    /// The keys and names of `lentMembers`.
    private let texts: SharedArray<UInt8>

    init(
        members: [Member],
        idColumn: Int,
        ownerColumn: Int,
        namedColumns: [FieldName: Int] = [:],
        inclusions: [Inclusion] = [],
        list: AccessCondition
    ) {
        self.members = members
        self.list = list
        self.idColumn = idColumn
        self.ownerColumn = ownerColumn
        var reaches: [AccessCondition] = []
        for case let reach? in members.lazy.map(\.reach) where !reaches.contains(reach) { reaches.append(reach) }
        self.reaches = reaches
        var owners: UInt64 = 0
        var others: [(bit: UInt64, reach: AccessCondition)] = []
        for (place, reach) in reaches.enumerated() {
            if reach == .owned { owners |= Self.bit(of: place) } else { others.append((Self.bit(of: place), reach)) }
        }
        ownersReaches = owners
        otherReaches = others
        self.namedColumns = namedColumns
        self.inclusions = inclusions
        var texts: [UInt8] = []
        func keep(_ bytes: some Collection<UInt8>) -> Range<Int> {
            let start = texts.count
            texts.append(contentsOf: bytes)
            return start..<texts.count
        }
        lentMembers = SharedArray(
            members.map { member in
                LentMember(
                    key: keep(member.key.encoded),
                    name: keep(member.name.utf8),
                    column: member.column,
                    kind: member.kind,
                    reach: member.reach.flatMap { reaches.firstIndex(of: $0) } ?? -1
                )
            }
        )
        self.texts = SharedArray(texts)
    }

    /// Returns the bit of a condition; conditions after the 63rd share the last bit.
    @inline(__always)
    static func bit(of reach: Int) -> UInt64 { 1 << UInt64(min(reach, 63)) }

    /// The member with the id of the record and, as its name, the type.
    var idMember: LentMember? { lentMembers.buffer.first { $0.kind == .id } }

    /// The key of a member; valid as long as the plan.
    @inline(__always)
    func key(of member: LentMember) -> BorrowedKey {
        BorrowedKey(encoded: text(member.key))
    }

    /// The name of a member; valid as long as the plan.
    @inline(__always)
    func name(of member: LentMember) -> UnsafeRawBufferPointer {
        text(member.name)
    }

    @inline(__always)
    private func text(_ place: Range<Int>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: texts.elements + place.lowerBound, count: place.count)
    }

    /// Returns this plan with included records.
    func including(_ inclusions: [Inclusion]) -> RowPlan {
        RowPlan(
            members: members,
            idColumn: idColumn,
            ownerColumn: ownerColumn,
            namedColumns: namedColumns,
            inclusions: inclusions,
            list: list
        )
    }

    /// Returns this plan without the named metadata; `_type` is omitted together with `_id`.
    func omitting(_ names: [String]) -> RowPlan {
        let omitted = Set(names.lazy.compactMap { ReservedColumn(keyPath: $0) })
        guard !omitted.isEmpty else { return self }
        return RowPlan(
            members: members.filter { $0.reserved.map { !omitted.contains($0) } ?? true },
            idColumn: idColumn,
            ownerColumn: ownerColumn,
            namedColumns: namedColumns,
            inclusions: inclusions,
            list: list
        )
    }

    /// Returns the plan for a result, which differs if the types of columns have just changed.
    func fitting(_ result: PostgresResult) -> RowPlan {
        let fits = lentMembers.buffer.allSatisfy { result.columnType($0.column) == $0.kind.oid }
        let inclusionsFit = inclusions.allSatisfy { $0.plan.map { $0.fitting(result) === $0 } ?? true }
        if fits, inclusionsFit { return self }
        return RowPlan(
            members: members.map { member in
                let oid = result.columnType(member.column)
                guard oid != member.kind.oid else { return member }
                return Member(
                    key: member.key,
                    kind: Kind(changedTo: oid),
                    name: "unknown",
                    column: member.column,
                    reserved: member.reserved,
                    reach: member.reach
                )
            },
            idColumn: idColumn,
            ownerColumn: ownerColumn,
            namedColumns: namedColumns,
            inclusions: inclusions.map { Inclusion(name: $0.name, plan: $0.plan?.fitting(result), number: $0.number) },
            list: list
        )
    }
}
