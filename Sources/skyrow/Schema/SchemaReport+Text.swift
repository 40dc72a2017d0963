import SkyrowMaintenance
import SkyrowModel
import SkyrowPostgres
import SkyrowStore

extension SchemaReport {
    func text(file: String, in schema: SQLIdentifier) -> String {
        let file = SchemaDocument.name(ofFile: file)
        guard !difference.isEmpty else { return "The database matches \(file)." }
        var parts: [String] = []
        if !difference.changes.isEmpty {
            let rows = difference.changes.map { change -> [String] in
                let loss = loss(of: change).map { ": \($0)" } ?? ""
                return ["  \(change.change.mark)", change.change.place, change.change.summary + loss]
            }
            parts.append("Changes to make the database match \(file):\n\n" + textTable(rows))
        }
        if !difference.drift.isEmpty {
            parts.append("Drift of the database from what Skyrow creates:\n\n" + driftText(in: schema))
        }
        if !difference.refusals.isEmpty {
            let lines = difference.refusals.map { "  \($0)" }
            parts.append("Changes that are not possible:\n\n" + lines.joined(separator: "\n"))
        }
        if !obstacles.isEmpty {
            parts.append(
                "Changes that are not possible while the service is used:\n\n"
                    + obstacles.map { "  \($0)" }.joined(separator: "\n")
            )
        }
        parts.append(conclusion)
        return parts.joined(separator: "\n\n")
    }

    /// Returns the data loss of a change, such as `12 of 3,400 records have a value`, if any.
    func loss(of change: SchemaDifference.Change) -> String? {
        guard let loss = change.loss, let counts = losses[loss] else { return nil }
        return switch loss {
        case .records: "\(counted(counts.records, "record"))"
        case .values: "\(decimal(counts.lost)) of \(counted(counts.records, "record")) have a value"
        case .misfits:
            "\(decimal(counts.lost)) of \(counted(counts.records, "record")) have a value that does not fit and would be lost"
        }
    }

    private func driftText(in schema: SQLIdentifier) -> String {
        difference.drift.map { drift in
            let mark = drift.isRepairable ? "~" : "!"
            var lines = ["  \(mark)  \(drift.place) \(drift.sentence)", "     [\(drift.key)]"]
            if !drift.isRepairable { lines += drift.remedy(in: schema).map { "     \($0)" } }
            return lines.joined(separator: "\n")
        }.joined(separator: "\n")
    }

    private var conclusion: String {
        var sentences: [String] = []
        let lossy = difference.changes.count { isLossy($0) }
        if !difference.changes.isEmpty {
            let part = lossy > 0 ? ", \(decimal(lossy)) of which \(lossy == 1 ? "loses" : "lose") data" : ""
            sentences.append("\(counted(difference.changes.count, "change"))\(part).")
        }
        let repairable = difference.drift.count(where: \.isRepairable)
        let others = difference.drift.count - repairable
        if repairable > 0 { sentences.append("Drift in \(counted(repairable, "place")) that apply would repair (~).") }
        if others > 0 {
            sentences.append(
                "Drift in \(counted(others, "place")) to repair by hand (!), or to accept by its key in accepted_drift."
            )
        }
        if !difference.refusals.isEmpty {
            sentences.append("Nothing can be applied while some changes are not possible.")
        }
        return sentences.joined(separator: " ")
    }
}

extension SchemaFileChange {
    /// The sign before the change: addition, deletion, or modification.
    fileprivate var mark: String {
        switch self {
        case .common(.createType), .common(.addField), .createIndex: "+"
        case .common(.deleteField), .common(.deleteRelation), .deleteType, .deleteIndex: "-"
        case .common(.widenField), .common(.renameField), .common(.renameRelation), .renameType, .convertField,
            .setDeleteRule, .setTextLanguage,
            .setDefault, .setComment, .setAccess, .setAccessOfAll, .setLive, .setSync, .repair:
            "~"
        }
    }

    /// `note.title`, `note`
    fileprivate var place: String { field.map { "\(type).\($0)" } ?? type }
}
