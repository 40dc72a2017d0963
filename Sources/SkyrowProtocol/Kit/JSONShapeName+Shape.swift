import SkyrowModel

extension JSONShapeName {
    /// The shape that several actions share under this name.
    package var shape: JSONShape {
        switch self {
        case .recordID: .string(maximum: 319)
        case .value: .any
        case .accessEntry: .accessEntry
        case .record: .record
        case .recordDraft: .recordDraft
        case .entryError: .entryError
        case .recordEntry: .either([.named(.record), .named(.entryError)])
        case .deletedEntry:
            .object([
                JSONMember("_id", .named(.recordID), isRequired: true),
                JSONMember("_type", .oneOfStrings(["record"]), isRequired: true),
                JSONMember("deleted", .array(of: .named(.recordID))),
                JSONMember("deleted_hidden", .integer(minimum: 1)),
            ])
        case .keyPath:
            .object([
                JSONMember("$type", .oneOfStrings(["keypath"]), isRequired: true),
                JSONMember("$val", .string(), isRequired: true),
                JSONMember("$as", .oneOfStrings(JSONValueType.allCases.map(\.rawValue))),
            ])
        case .predicate: .tuple([.string()], rest: .any)
        case .authResult: Codec.authResultForm.shape
        case .schema: RecordSchema.shape
        case .index: RecordIndex.shape
        case .role: Codec.roleForm.shape
        case .relatedUser: Codec.relatedUserShape
        case .status:
            .object([JSONMember("status", .oneOfStrings(["OK"]), isRequired: true)])
        }
    }
}

extension JSONShape {
    fileprivate static let accessEntry = JSONShape.object([
        JSONMember("public", .boolean),
        JSONMember("users", .boolean),
        JSONMember("registered", .boolean),
        JSONMember("verified", .boolean),
        JSONMember("owner", .boolean),
        JSONMember("user_id", .string(maximum: 255)),
        JSONMember("role", .string(maximum: 255)),
        JSONMember("group", .string(maximum: 255)),
        JSONMember("key", .string(maximum: 255)),
        JSONMember("relation", .oneOfStrings(Subject.Relation.allCases.map(\.rawValue) + ["$direct"])),
        JSONMember("level", .oneOfStrings(AccessLevel.allCases.map(\.rawValue)), isRequired: true),
    ])

    package static let accessList = JSONShape.nullable(.array(of: .named(.accessEntry)))

    fileprivate static let record = JSONShape.object(
        [
            JSONMember("_id", .named(.recordID), isRequired: true),
            JSONMember("_type", .oneOfStrings(["record"]), isRequired: true),
            JSONMember("_access", accessList, isRequired: true),
            JSONMember("_ownerID", .string()),
            JSONMember("_created_at", .dateTime),
            JSONMember("_created_by", .string()),
            JSONMember("_updated_at", .dateTime),
            JSONMember("_updated_by", .string()),
            JSONMember("_revision", .integer()),
            JSONMember("_transient", .object([], others: .any)),
        ],
        others: .named(.value)
    )

    fileprivate static let recordDraft = JSONShape.object(
        [
            JSONMember("_id", .named(.recordID), isRequired: true),
            JSONMember("_access", accessList),
            JSONMember("_if_revision", .either([.integer(), .oneOfStrings(["new", "any"])])),
            JSONMember("_if", .nullable(.named(.predicate))),
        ],
        others: .named(.value)
    )

    fileprivate static let entryError = JSONShape.object([
        JSONMember("_id", .string()),
        JSONMember("_type", .oneOfStrings(["error"]), isRequired: true),
        JSONMember("name", .string(), isRequired: true),
        JSONMember("code", .integer(), isRequired: true),
        JSONMember("message", .string(), isRequired: true),
        JSONMember("info", .object([], others: .any)),
    ])
}
