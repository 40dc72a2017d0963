internal import SkyrowModel

/// The columns that a draft with operators sets, and their values in a new record.
struct OperatedColumns {
    /// Positions in the table, in ascending order.
    private(set) var columns: [Int] = []
    private(set) var values: [RecordValue] = []
    private(set) var operators: [SettledOperator] = []
    /// Why no new record can be created; nil if it can, or if creation is not an option.
    private(set) var insertRefusal: SkyrowError?
    /// Whether one of the columns is for references.
    private(set) var hasReferences = false

    /// Throws `108 InvalidArgument` for an operator that does not fit its field, or that needs a stored value while the record
    /// must be new, and `114 IncompatibleSchema` for a field that the table does not have.
    ///
    /// - Parameters:
    ///   - set: the columns that are set directly, with their values.
    ///   - freshIDs: the ids that replace temporary ones.
    init(
        of draft: RecordDraft,
        in table: RecordTable,
        beside set: (columns: [Int], values: [RecordValue]),
        _ freshIDs: [RecordID: RecordID]
    ) throws(SkyrowError) {
        var all: [(column: Int, value: RecordValue, change: SettledOperator?)] = zip(set.columns, set.values).map {
            ($0, $1, nil)
        }
        let others = Set(set.columns)
        for settled in try table.settledOperators(of: draft, freshIDs) {
            guard !others.contains(settled.column) else {
                throw SkyrowError.invalidArgument("A field can have a value or an operator, not both.")
                    .inOperator(on: settled.field.rawValue)
            }
            switch (draft.precondition, table.rules.origin) {
            case (.isNew, .saves):
                // A new record has no stored value to apply it to.
                all.append((settled.column, try settled.freshValue(), nil))
            case (.revision, _), (.exists, _), (_, .accounts):
                all.append((settled.column, settled.rowValue, settled))
            case (nil, .saves):
                do throws(SkyrowError) {
                    all.append((settled.column, try settled.freshValue(), settled))
                } catch {
                    insertRefusal = insertRefusal ?? error
                    all.append((settled.column, settled.rowValue, settled))
                }
            }
        }
        all.sort { $0.column < $1.column }
        for (place, one) in all.enumerated() {
            columns.append(one.column)
            values.append(one.value)
            switch table.columns[one.column].type {
            case .reference, .relation: hasReferences = true
            default: break
            }
            guard var settled = one.change else { continue }
            settled.place = place
            operators.append(settled)
        }
    }
}
