internal import SkyrowModel
internal import Synchronization

/// The layouts of recent drafts of a type, which fit most of the next ones.
///
/// A table owns its layouts: when the schema changes, another table takes its place.
final class DraftLayouts: Sendable {
    /// Applications save a type with a few sets of fields.
    private static let capacity = 8

    private let kept = Mutex<[DraftLayout]>([])

    /// Returns the layout of a draft in the table that owns these layouts.
    ///
    /// Throws the errors of ``DraftLayout/init(of:in:)``.
    func layout(of draft: RecordDraft, in table: RecordTable) throws(SkyrowError) -> DraftLayout {
        // A draft may have many fields, so layouts are compared without the lock.
        let known = kept.withLock { $0 }
        if let layout = known.first(where: { $0.fits(draft) }) { return layout }
        let layout = try DraftLayout(of: draft, in: table)
        guard !layout.isPartial else { return layout }
        kept.withLock { kept in
            if kept.count == Self.capacity { kept.removeFirst() }
            kept.append(layout)
        }
        return layout
    }
}

/// The columns that the fields of a draft are written to.
///
/// Most drafts of a type name the same fields in the same order, so a layout is reused for every draft that it fits.
final class DraftLayout: Sendable {
    /// A field of the draft and its column in the statement.
    private struct Slot {
        let field: FieldName
        /// The position in the table.
        let column: Int
        let type: any ColumnType
        let maximumBytes: Int?
        /// The position among the columns that are set.
        var place = 0
    }

    /// The positions in the table of the columns that are set, in ascending order.
    let columns: [Int]
    /// Whether one of them is a reference column.
    let hasReferences: Bool
    /// One slot for each field of the draft, in its order.
    private let slots: [Slot]
    /// Positions in ``slots``, in the order of the columns.
    private let order: [Int]
    /// Whether a field was left out because it has neither a column nor a value.
    let isPartial: Bool

    /// Throws `114 IncompatibleSchema` for a field that the table does not have, and for a read-only field.
    init(of draft: RecordDraft, in table: RecordTable) throws(SkyrowError) {
        var slots: [Slot] = []
        var hasReferences = false
        slots.reserveCapacity(draft.fields.count)
        for field in draft.fields {
            guard let column = table.position(of: field.name) else {
                // There is no column to set to NULL.
                if case .null = field.value { continue }
                throw SkyrowError(
                    .incompatibleSchema,
                    "The record type has no field of this name.",
                    info: ["arguments": .list([.string(field.name.rawValue)])]
                )
            }
            guard table.columns[column].isWritable else { throw table.columns[column].readOnly }
            let type = table.columns[column].type
            if case .reference = type { hasReferences = true }
            slots.append(
                Slot(
                    field: field.name,
                    column: column,
                    type: type.column,
                    maximumBytes: table.columns[column].maximumBytes
                )
            )
        }
        let order = slots.indices.sorted { slots[$0].column < slots[$1].column }
        for (place, slot) in order.enumerated() { slots[slot].place = place }
        self.slots = slots
        self.order = order
        columns = order.map { slots[$0].column }
        self.hasReferences = hasReferences
        isPartial = slots.count < draft.fields.count
    }

    /// Whether the layout also fits another draft of the same type.
    func fits(_ draft: RecordDraft) -> Bool {
        guard !isPartial, draft.fields.count == slots.count else { return false }
        for index in slots.indices where slots[index].field != draft.fields[index].name { return false }
        return true
    }

    /// Returns the columns that a draft sets, and their values in the form that the columns take.
    ///
    /// Throws `114 IncompatibleSchema` for a value of another type and `108 InvalidArgument` for one that does not fit.
    ///
    /// - Parameters:
    ///   - table: the table of this layout.
    ///   - freshIDs: the ids that replace temporary ids.
    func values(
        of draft: RecordDraft,
        in table: RecordTable,
        _ freshIDs: [RecordID: RecordID]
    ) throws(SkyrowError) -> (columns: [Int], values: [RecordValue]) {
        if takesAsSent(draft.fields) { return (columns, order.map { draft.fields[$0].value }) }
        var values = [RecordValue](repeating: .null, count: slots.count)
        var leftAlone: [Int] = []
        var index = 0
        for field in draft.fields {
            if isPartial, index == slots.count || slots[index].field != field.name { continue }
            let slot = slots[index]
            let typed: RecordValue
            do throws(ValueMisfit) { typed = try slot.type.typedValue(field.value) } catch {
                throw table.columns[slot.column].uncast(error)
            }
            let value = try typed.resolved { target throws(SkyrowError) in
                guard let fresh = freshIDs[target] else {
                    throw .invalidArgument("A reference has a temporary id that no record has.", field.name.rawValue)
                }
                return fresh
            }
            do throws(ValueMisfit) {
                if let value = try slot.type.write(value) {
                    if let limit = slot.maximumBytes, value.isLonger(than: limit) {
                        throw .value(FieldMisfit("can have at most \(limit) bytes, since it is indexed"))
                    }
                    values[slot.place] = value
                } else {
                    leftAlone.append(slot.place)
                }
            } catch {
                throw table.columns[slot.column].refusal(error)
            }
            index += 1
        }
        guard !leftAlone.isEmpty else { return (columns, values) }
        let kept = columns.indices.filter { !leftAlone.contains($0) }
        return (kept.map { columns[$0] }, kept.map { values[$0] })
    }

    /// Whether the columns take all values exactly as sent.
    private func takesAsSent(_ fields: [(name: FieldName, value: RecordValue)]) -> Bool {
        guard !isPartial else { return false }
        return slots.indices.allSatisfy { index in
            if let limit = slots[index].maximumBytes, fields[index].value.isLonger(than: limit) { return false }
            return slots[index].type.takesAsSent(fields[index].value)
        }
    }
}

extension RecordValue {
    /// Whether the value is a string or bytes of more than `bytes` bytes.
    fileprivate func isLonger(than bytes: Int) -> Bool {
        switch self {
        case .string(let text): text.utf8.count > bytes
        case .bytes(let value): value.count > bytes
        default: false
        }
    }

    /// Returns the value with its temporary ids resolved.
    func resolved(_ resolve: (RecordID) throws(SkyrowError) -> RecordID) throws(SkyrowError) -> RecordValue {
        switch self {
        case .reference(let target) where target.isTemporary: .reference(try resolve(target))
        case .json(let text): .json(try text.resolved(resolve))
        case .array(let elements):
            .array(try elements.map { element throws(SkyrowError) in try element.resolved(resolve) })
        default: self
        }
    }
}
