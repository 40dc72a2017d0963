import SkyrowJSON
import SkyrowMaintenance
import SkyrowModel
import SkyrowPostgres
import SkyrowProtocol
import SkyrowStore

extension SchemaReport {
    /// The report as JSON:
    ///
    /// ```json
    /// {"same": false,
    ///  "changes": [{"kind": "delete_field", "type": "note", "field": "old", "summary": "deleted", "loses_data": true,
    ///               "lost": 12, "records": 3400, "sql": ["ALTER TABLE …;"]}],
    ///  "drift": [{"key": "note:_tombstone_deleted", "type": "note", "summary": "…", "repaired_by_apply": true, "sql": ["…"]}],
    ///  "refusals": []}
    /// ```
    ///
    /// - Parameter applied: The number of changes made, including repairs; nil for a mere comparison.
    func json(in schema: SQLIdentifier, applied: Int? = nil) -> String {
        jsonObject { writer in
            writer.member("same", difference.isEmpty)
            writer.beginArray("changes")
            for change in difference.changes { write(change, in: schema, to: writer) }
            writer.endArray()
            writer.beginArray("drift")
            for drift in difference.drift { write(drift, in: schema, to: writer) }
            writer.endArray()
            writer.member("refusals", difference.refusals)
            if let applied { writer.member("applied", applied) }
        }
    }

    private func write(_ change: SchemaDifference.Change, in schema: SQLIdentifier, to writer: JSONWriter) {
        writer.beginObject()
        writer.member("kind", change.change.kind)
        write(change.change.type, change.change.field, change.change.summary, to: writer)
        writer.member("loses_data", change.loss != nil)
        if let loss = change.loss, let counts = losses[loss] {
            writer.member("lost", counts.lost)
            writer.member("records", counts.records)
        }
        writer.member("sql", change.change.script(in: schema))
        writer.endObject()
    }

    private func write(_ drift: SchemaDrift, in schema: SQLIdentifier, to writer: JSONWriter) {
        writer.beginObject()
        writer.member("key", drift.key)
        write(drift.relation, drift.field?.rawValue, drift.sentence, to: writer)
        writer.member("repaired_by_apply", drift.isRepairable)
        writer.member("sql", drift.remedy(in: schema))
        writer.endObject()
    }

    private func write(_ type: String, _ field: String?, _ summary: String, to writer: JSONWriter) {
        writer.member("type", type)
        if let field { writer.member("field", field) }
        writer.member("summary", summary)
    }
}
