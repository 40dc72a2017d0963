package import SkyrowJSON
package import SkyrowModel

extension JSONWriter {
    /// The result of `record:fetch`: one entry an outcome.
    package func outcomes(_ outcomes: [RecordOutcome]) {
        beginArray()
        for outcome in outcomes where refusal == nil { self.outcome(outcome) }
        endArray()
    }

    /// The result of `record:save` and `record:delete`: one entry an outcome.
    ///
    /// What was written is never left out: beyond the writer's bound a record goes without its fields.
    package func written(_ outcomes: [RecordOutcome]) {
        beginArray()
        for outcome in outcomes {
            bounded {
                self.outcome(outcome)
            } otherwise: {
                shortOutcome(outcome)
            }
        }
        liftBound()
        endArray()
    }

    private func shortOutcome(_ outcome: RecordOutcome) {
        switch outcome {
        case .record(let source): shortRecord(source)
        case .failure(var error, let id):
            // The record that a conflict met may be long.
            error.info["record"] = nil
            self.outcome(.failure(error, id: id))
        case .deleted: self.outcome(outcome)
        }
    }

    /// A record without its fields: `{"_id":"note/1","_type":"record",…,"_fields_omitted":true}`
    private func shortRecord(_ source: any RecordSource) {
        var sink = ReservedMembersSink(self)
        source.emit(into: &sink)
    }

    private func outcome(_ outcome: RecordOutcome) {
        switch outcome {
        case .record(let source):
            if source.isWhole { record(source) } else { shortRecord(source) }
        case .deleted(let id, let dependents):
            beginObject()
            member("_id", id.description)
            member("_type", "record")
            if !dependents.ids.isEmpty {
                beginArray("deleted")
                for id in dependents.ids { string(id.description) }
                endArray()
            }
            if dependents.hidden > 0 { member("deleted_hidden", dependents.hidden) }
            endObject()
        case .failure(let error, let id):
            beginObject()
            if let id { member("_id", id) }
            member("_type", "error")
            errorMembers(error)
            endObject()
        }
    }

    /// A list of records, as `record:query` returns it.
    package func records(_ sources: [any RecordSource]) {
        beginArray()
        for source in sources where refusal == nil { record(source) }
        endArray()
    }

    /// The records that those of a page include: `"included":{"person/9":{…}}`
    func included(_ records: [IncludedRecord]) {
        beginObject("included")
        for record in records where refusal == nil {
            key(record.id)
            self.record(record.source)
        }
        endObject()
    }
}
