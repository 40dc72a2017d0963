internal import SkyrowModel

/// Where the fields of a draft go in its type's table.
///
/// The drafts of a request mostly name the same fields in the same order, so the layout of one is used for those after
/// it that it fits.
final class DraftLayout {
    /// A field of the draft as the statement has it.
    private struct Slot {
        let field: FieldName
        /// The place in the table.
        let column: Int
        let type: any ColumnType
        /// The place among the columns that are set.
        var place = 0
    }

    let table: RecordTable
    /// The columns that are set, by their place in the table, in that order.
    let columns: [Int]
    /// Whether one of them is for references.
    let hasReferences: Bool
    /// One for each field of the draft, in its order.
    private let slots: [Slot]
    /// Whether a field was left out that has neither a column nor a value.
    private let isPartial: Bool

    /// Throws `114 IncompatibleSchema` for a field that the table does not have, or that can be read only.
    init(of draft: RecordDraft, in table: RecordTable) throws(SkyrowError) {
        var slots: [Slot] = []
        var hasReferences = false
        slots.reserveCapacity(draft.fields.count)
        for field in draft.fields {
            guard let column = table.position(of: field.name) else {
                // Nothing is there to be unset.
                if case .null = field.value { continue }
                throw SkyrowError(
                    .incompatibleSchema,
                    "There is no field of this name in the record type.",
                    info: ["arguments": .list([.string(field.name.rawValue)])]
                )
            }
            guard table.columns[column].isWritable else { throw table.columns[column].readOnly }
            let type = table.columns[column].type
            if case .reference = type { hasReferences = true }
            slots.append(Slot(field: field.name, column: column, type: type.column))
        }
        let order = slots.indices.sorted { slots[$0].column < slots[$1].column }
        for (place, slot) in order.enumerated() { slots[slot].place = place }
        self.table = table
        self.slots = slots
        columns = order.map { slots[$0].column }
        self.hasReferences = hasReferences
        isPartial = slots.count < draft.fields.count
    }

    /// Whether it is the layout of another draft too.
    func fits(_ draft: RecordDraft) -> Bool {
        guard !isPartial, draft.fields.count == slots.count, draft.id.type == table.name else { return false }
        for index in slots.indices where slots[index].field != draft.fields[index].name { return false }
        return true
    }

    /// The columns that a draft sets and their values, as the columns take them.
    ///
    /// Throws `114 IncompatibleSchema` for a value of another type and `108 InvalidArgument` for one that does not fit.
    ///
    /// - Parameter freshIDs: what temporary ids stand for.
    func values(
        of draft: RecordDraft,
        _ freshIDs: [RecordID: RecordID]
    ) throws(SkyrowError) -> (columns: [Int], values: [RecordValue]) {
        var values = [RecordValue](repeating: .null, count: slots.count)
        var leftAlone: [Int] = []
        var index = 0
        for field in draft.fields {
            if isPartial, index == slots.count || slots[index].field != field.name { continue }
            let value = try field.value.resolved { target throws(SkyrowError) in
                guard let fresh = freshIDs[target] else {
                    throw .invalidArgument("A temporary id is referred to, but no record has it.", field.name.rawValue)
                }
                return fresh
            }
            do throws(ValueMisfit) {
                if let value = try slots[index].type.write(value) {
                    values[slots[index].place] = value
                } else {
                    leftAlone.append(slots[index].place)
                }
            } catch {
                throw table.columns[slots[index].column].refusal(error)
            }
            index += 1
        }
        guard !leftAlone.isEmpty else { return (columns, values) }
        let kept = columns.indices.filter { !leftAlone.contains($0) }
        return (kept.map { columns[$0] }, kept.map { values[$0] })
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
