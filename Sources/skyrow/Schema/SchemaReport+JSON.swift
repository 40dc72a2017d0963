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
            writer.key("same")
            writer.boolean(difference.isEmpty)
            writer.key("changes")
            writer.beginArray()
            for change in difference.changes { write(change, in: schema, to: writer) }
            writer.endArray()
            writer.key("drift")
            writer.beginArray()
            for drift in difference.drift { write(drift, in: schema, to: writer) }
            writer.endArray()
            writer.key("refusals")
            writer.strings(difference.refusals)
            if let applied {
                writer.key("applied")
                writer.integer(Int64(applied))
            }
        }
    }

    private func write(_ change: SchemaDifference.Change, in schema: SQLIdentifier, to writer: JSONWriter) {
        writer.beginObject()
        writer.key("kind")
        writer.string(change.change.kind)
        write(change.change.type, change.change.field, change.change.summary, to: writer)
        writer.key("loses_data")
        writer.boolean(change.loss != nil)
        if let loss = change.loss, let counts = losses[loss] {
            writer.key("lost")
            writer.integer(Int64(counts.lost))
            writer.key("records")
            writer.integer(Int64(counts.records))
        }
        writer.key("sql")
        writer.strings(change.change.script(in: schema))
        writer.endObject()
    }

    private func write(_ drift: SchemaDrift, in schema: SQLIdentifier, to writer: JSONWriter) {
        writer.beginObject()
        writer.key("key")
        writer.string(drift.key)
        write(drift.relation, drift.field?.rawValue, drift.sentence, to: writer)
        writer.key("repaired_by_apply")
        writer.boolean(drift.isRepairable)
        writer.key("sql")
        writer.strings(drift.remedy(in: schema))
        writer.endObject()
    }

    private func write(_ type: String, _ field: String?, _ summary: String, to writer: JSONWriter) {
        writer.key("type")
        writer.string(type)
        if let field {
            writer.key("field")
            writer.string(field)
        }
        writer.key("summary")
        writer.string(summary)
    }
}
