import SkyrowJSON
package import SkyrowModel

extension Codec<RecordIndex> {
    package static let recordIndex = Codec(.named(.index)) { json, _ throws(SkyrowError) in
        try RecordIndex(result: json)
    } write: { index, writer in
        writer.index(index)
    }
}

extension IndexKind {
    static let shape = JSONShape.oneOfStrings(allCases.map(\.rawValue))
}

extension IndexField {
    /// `["year", "desc"]`, `[["func", "fold", "title"]]`, `[{"$type": "keypath", "$val": "meta.w", "$as": "number"}]`
    static let shape = JSONShape.tuple(
        [
            .either([
                .string(maximum: 63), .tuple([.oneOfStrings(["func"]), .oneOfStrings(["fold"]), .string()], rest: nil),
                .named(.keyPath),
            ])
        ],
        rest: .oneOfStrings(["asc", "desc"])
    )
}

extension RecordIndex {
    static let shape = JSONShape.object([
        JSONMember("name", .string(maximum: 63), isRequired: true),
        JSONMember("record_type", .string(maximum: 63), isRequired: true),
        JSONMember("fields", .array(of: IndexField.shape)),
        JSONMember("kind", IndexKind.shape),
        JSONMember("fold", .boolean),
        JSONMember("unique", .boolean),
        JSONMember("nulls", .oneOfStrings(["equal"])),
        JSONMember("state", .oneOfStrings(State.allCases.map(\.rawValue)), isRequired: true, "The state of the index."),
        JSONMember("attempts", .integer(minimum: 1), "How often the build was started."),
        JSONMember("reason", .oneOfStrings(IndexFailure.Reason.allCases.map(\.rawValue)), "Why the build failed."),
        JSONMember("duplicates", .integer(minimum: 0), "The number of values that occur in several records."),
        JSONMember("sql_state", .string(maximum: 5), "Why PostgreSQL refused the build."),
        JSONMember("phase", .string(), "The phase of the build in PostgreSQL."),
        JSONMember("blocks_done", .integer(minimum: 0), "The number of blocks that were read."),
        JSONMember("blocks_total", .integer(minimum: 0), "The number of blocks to read."),
        JSONMember("bytes", .integer(minimum: 0), "The size on disk."),
        JSONMember("valid", .boolean, "For a `foreign` index, whether PostgreSQL uses it."),
        JSONMember("statement", .string(), "For a `foreign` index, its definition in PostgreSQL."),
    ])
}
