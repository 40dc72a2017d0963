import SkyrowJSON
package import SkyrowModel

extension Codec<DeletionReport> {
    package static let deletionReport = object(
        Form(
            DeletionReport.init(isFinished:deleted:anonymised:transferred:kept:),
            Member("finished", \.isFinished, .boolean),
            Member("deleted", \.deleted, .integer(0...Int.max)),
            Member("anonymised", \.anonymised, .integer(0...Int.max)),
            Member("transferred", \.transferred, .integer(0...Int.max)),
            Member("kept", \.kept, .integer(0...Int.max))
        )
    )
}

extension Codec<MergeReport> {
    static let mergeReport = object(
        Form(
            MergeReport.init(isFinished:records:changes:),
            Member("finished", \.isFinished, .boolean),
            Member("records", \.records, .integer(0...Int.max)),
            Member("renamed", \.changes, .list(of: change))
        )
    )

    private static let change = Codec<MergeReport.Change>.object(
        Form(
            { MergeReport.Change(from: $0, to: $1, clearedFields: $2 ?? []) },
            Member("from", \.from, movedID),
            Member("to", \.to, movedID),
            Member(ifAny: "cleared", \.anyClearedFields, .list(of: .string))
        )
    )

    private static let movedID = Codec<RecordID>(.string()) { json, name throws(SkyrowError) in
        guard let text = json.string else { throw .wrongType(name, "a string") }
        return try RecordID(text)
    } write: { id, writer in
        writer.string(id.description)
    }
}

extension MergeReport.Change {
    fileprivate var anyClearedFields: [String]? { clearedFields.isEmpty ? nil : clearedFields }
}
