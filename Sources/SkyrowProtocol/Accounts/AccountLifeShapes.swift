import SkyrowJSON
package import SkyrowModel

extension Codec<DeletionReport> {
    package static let deletionReport = object(
        Form(
            DeletionReport.init(isFinished:deleted:anonymised:transferred:kept:),
            Member("finished", \.isFinished, .boolean, "False while the service continues in the background."),
            Member("deleted", \.deleted, .integer(0...Int.max), "The number of deleted records."),
            Member(
                "anonymised",
                \.anonymised,
                .integer(0...Int.max),
                "The number of records that no longer name the user."
            ),
            Member(
                "transferred",
                \.transferred,
                .integer(0...Int.max),
                "The number of records that now belong to another user."
            ),
            Member(
                "kept",
                \.kept,
                .integer(0...Int.max),
                "The number of records that were anonymised instead of deleted, because records of others refer to them."
            )
        )
    )
}

extension Codec<MergeReport> {
    static let mergeReport = object(
        Form(
            MergeReport.init(isFinished:records:changes:),
            Member("finished", \.isFinished, .boolean, "False while the service continues in the background."),
            Member("records", \.records, .integer(0...Int.max), "The number of records that moved."),
            Member("renamed", \.changes, .list(of: change), "Private records that changed, at most 1000.")
        )
    )

    private static let change = Codec<MergeReport.Change>.object(
        Form(
            { MergeReport.Change(from: $0, to: $1, clearedFields: $2 ?? []) },
            Member("from", \.from, movedID, "The id that the record had."),
            Member("to", \.to, movedID, "The id of the record now."),
            Member(ifAny: "cleared", \.clearedFields.nonEmpty, .list(of: .string), "The fields that became null.")
        )
    )

    private static let movedID = Codec<RecordID>.parsed { text, _ throws(SkyrowError) in
        try RecordID(text)
    } writing: {
        $0.description
    }
}
