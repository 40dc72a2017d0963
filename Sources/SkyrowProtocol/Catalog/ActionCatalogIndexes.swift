import SkyrowModel

// The declarations of `schema:index:*`.

extension ActionCatalog {
    static let schemaIndexCreate = ActionDescription(
        .schemaIndexCreate,
        "Has an index built while records are written.",
        requirement: .masterOrDevelopment,
        parameters: [
            ActionParameter("record_type", "The record type.", .string(maximum: 63), isRequired: true),
            ActionParameter(
                "fields",
                "The fields in their order, each with a direction where it is not asc.",
                .array(of: indexField, minimum: 1),
                isRequired: true
            ),
            ActionParameter("kind", "What the index serves; order when missing.", .nullable(indexKind)),
            ActionParameter(
                "unique",
                "Whether no two records of a database may have the same values.",
                .nullable(.boolean)
            ),
            ActionParameter(
                "nulls",
                "equal where records without a value of a unique index count as having the same one.",
                .nullable(.oneOfStrings(["distinct", "equal"]))
            ),
            ActionParameter(
                "fold",
                "Whether upper and lower case are taken for the same in all fields.",
                .nullable(.boolean)
            ),
        ],
        result: .named(.index),
        errors: [.permissionDenied, .resourceNotFound, .notSupported, .incompatibleSchema],
        cost: .write,
        effect: .once
    )

    static let schemaIndexDelete = ActionDescription(
        .schemaIndexDelete,
        "Has an index dropped while records are written.",
        requirement: .masterOrDevelopment,
        parameters: [
            ActionParameter("name", "The name of the index.", .string(maximum: 63), isRequired: true),
            ActionParameter("force", "Whether one goes that was made by other means.", .nullable(.boolean)),
        ],
        result: .named(.index),
        errors: [.permissionDenied, .resourceNotFound, .notSupported, .incompatibleSchema],
        cost: .write,
        effect: .once
    )

    static let schemaIndexList = ActionDescription(
        .schemaIndexList,
        "Returns the indexes of a record type, or of all, but for those that every type has.",
        requirement: .masterOrDevelopment,
        parameters: [
            ActionParameter("record_type", "The record type; all when missing.", .nullable(.string(maximum: 63)))
        ],
        result: .object([JSONMember("indexes", .array(of: .named(.index)), isRequired: true)]),
        errors: [.permissionDenied, .resourceNotFound],
        cost: .read,
        effect: .reads
    )

    private static let indexKind = JSONShape.oneOfStrings(IndexKind.allCases.map(\.rawValue))

    /// `["year", "desc"]`, `[["func", "fold", "title"]]`, `[{"$type": "keypath", "$val": "meta.w", "$as": "number"}]`
    private static let indexField = JSONShape.tuple(
        [
            .either([
                .string(maximum: 63), .tuple([.oneOfStrings(["func"]), .oneOfStrings(["fold"]), .string()], rest: nil),
                .named(.keyPath),
            ])
        ],
        rest: .oneOfStrings(["asc", "desc"])
    )

    static let index = JSONShape.object([
        JSONMember("name", .string(maximum: 63), isRequired: true),
        JSONMember("record_type", .string(maximum: 63), isRequired: true),
        JSONMember("fields", .array(of: indexField)),
        JSONMember("kind", indexKind),
        JSONMember("fold", .boolean),
        JSONMember("unique", .boolean),
        JSONMember("nulls", .oneOfStrings(["equal"])),
        JSONMember("state", .oneOfStrings(RecordIndex.State.allCases.map(\.rawValue)), isRequired: true),
        JSONMember("attempts", .integer(minimum: 1)),
        JSONMember("reason", .oneOfStrings(IndexFailure.Reason.allCases.map(\.rawValue))),
        JSONMember("duplicates", .integer(minimum: 0)),
        JSONMember("sql_state", .string(maximum: 5)),
        JSONMember("phase", .string()),
        JSONMember("blocks_done", .integer(minimum: 0)),
        JSONMember("blocks_total", .integer(minimum: 0)),
        JSONMember("bytes", .integer(minimum: 0)),
        JSONMember("valid", .boolean),
        JSONMember("statement", .string()),
    ])
}
