import SkyrowMaintenance
import SkyrowModel

/// Returns the table of columns shown before an import.
func importTable(_ plan: ImportPlan, recordCount: Int) -> String {
    let rows = plan.columns.map { column -> [String] in
        let values = "\(decimal(column.valueCount)) of \(decimal(recordCount))"
        return switch column.target {
        case .id: [column.source, "_id", "the record's id", values]
        case .reserved(let reserved): [column.source, reserved.rawValue, reserved.meaning, values]
        case .field(let name, let type, let isNew):
            [column.source, name.rawValue, type.name + (isNew ? " (new)" : ""), values]
        case .leftOut(let reason): [column.source, "", "left out: \(reason)", values]
        }
    }
    return textTable([["column", "field", "type", "values"]] + rows)
}

extension ReservedColumn {
    /// The contents of the column, for a table.
    fileprivate var meaning: String {
        switch self {
        case .id: "the row's id"
        case .database: "the row's database"
        case .owner: "the record's owner"
        case .access: "the record's access list"
        case .createdAt: "the creation time"
        case .createdBy: "the creator"
        case .updatedAt: "the time of the last change"
        case .updatedBy: "the author of the last change"
        case .revision: "the row's revision"
        }
    }
}
