package import SkyrowJSON
package import SkyrowModel

extension MergeRequest {
    /// Reads `auth:merge`.
    package init(parameters json: JSONView) throws(SkyrowError) {
        let parameters = Parameters(json)
        self.init(token: try parameters.required("token", parameters.string("token")))
    }
}

extension MergeReport {
    /// Reads the result of `auth:merge`.
    package init(result json: JSONView) throws(SkyrowError) {
        guard let isFinished = json["finished"]?.boolean, case .integer(let records)? = json["records"]?.number,
            let renamed = json["renamed"], renamed.isArray
        else { throw SkyrowError(.badRequest, "A merge must have finished, records and renamed.") }
        self.init(isFinished: isFinished, records: Int(records))
        for element in renamed.elements {
            guard let from = element["from"]?.string, let to = element["to"]?.string else {
                throw SkyrowError(.badRequest, "A renamed record must have from and to.")
            }
            changes.append(
                Change(
                    from: try RecordID(from),
                    to: try RecordID(to),
                    cleared: element["cleared"]?.elements.compactMap(\.string) ?? []
                )
            )
        }
    }
}

extension JSONWriter {
    /// The result of `auth:merge`.
    package func merge(_ report: MergeReport) {
        beginObject()
        key("finished")
        boolean(report.isFinished)
        key("records")
        integer(report.records)
        key("renamed")
        beginArray()
        for change in report.changes {
            beginObject()
            key("from")
            string(change.from.description)
            key("to")
            string(change.to.description)
            if !change.cleared.isEmpty {
                key("cleared")
                strings(change.cleared)
            }
            endObject()
        }
        endArray()
        endObject()
    }

    /// The parameters of `auth:merge`.
    package func mergeParameters(_ request: MergeRequest) {
        beginObject()
        key("token")
        string(request.token)
        endObject()
    }
}
