import SkyrowModel

// The declarations of the actions on the rules of record types, and on the defaults and owners of records.

extension ActionCatalog {
    static let schemaAccess = ActionDescription(
        .schemaAccess,
        "Says which roles create records of a type, as in Skygear.",
        requirement: .masterOrDevelopment,
        parameters: [
            ActionParameter("type", "The record type.", .string(maximum: 63), isRequired: true),
            ActionParameter(
                "create_roles",
                "The roles; none of them for every logged-in user.",
                .array(of: .string(maximum: 255)),
                isRequired: true
            ),
        ],
        result: .object([
            JSONMember("type", .string(maximum: 63), isRequired: true),
            JSONMember("create_roles", .array(of: .string(maximum: 255)), isRequired: true),
        ]),
        errors: [.permissionDenied],
        cost: .write,
        effect: .once
    )

    static let schemaAccessSet = ActionDescription(
        .schemaAccessSet,
        "Changes who creates, reads, updates and deletes the records of a type, and what new ones begin with.",
        requirement: .masterOrDevelopment,
        parameters: [
            ActionParameter("record_type", "The record type.", .string(maximum: 63), isRequired: true),
            ActionParameter(
                "rules",
                "The rules to change, by action; null takes one away.",
                .nullable(.object(ClassAction.allCases.map { JSONMember($0.rawValue, .nullable(rule(of: $0))) }))
            ),
            ActionParameter(
                "fields",
                "The rules of fields to change, by field, or * for every one, and use; null takes one away.",
                .nullable(.object([], others: .nullable(.object([], others: .any))))
            ),
            ActionParameter(
                "default_access",
                "The access list of a new public record that brings none; null for none.",
                .nullable(.array(of: .named(.accessEntry)))
            ),
            ActionParameter(
                "list_by",
                "Who changes the access list of a record; null for what the settings say.",
                .nullable(.oneOfStrings(ClassAccess.ListWriters.allCases.map(\.rawValue)))
            ),
            ActionParameter(
                "list_read_by",
                "Who sees the whole access list of a record, of those who read it; null for what the settings say.",
                .nullable(.oneOfStrings(ClassAccess.ListReaders.allCases.map(\.rawValue)))
            ),
            ActionParameter(
                "transfer_by",
                "Who gives records to other owners.",
                .nullable(.oneOfStrings(ClassAccess.Transferrers.allCases.map(\.rawValue)))
            ),
            ActionParameter(
                "creator",
                "What the user who makes a public record is to it: its owner, or none, so that the record has no owner.",
                .nullable(.oneOfStrings(ClassAccess.NewOwner.allCases.map(\.rawValue)))
            ),
            ActionParameter(
                "private",
                "Whether private databases have records of the type.",
                .nullable(.boolean)
            ),
            ActionParameter(
                "aggregate",
                "Whether others than the master key have aggregates of the records computed.",
                .nullable(.boolean)
            ),
        ],
        result: classAccess,
        errors: [.permissionDenied],
        cost: .write,
        effect: .once
    )

    static let schemaAccessGet = ActionDescription(
        .schemaAccessGet,
        "Returns who creates, reads, updates and deletes the records of a type, and what new ones begin with.",
        requirement: .masterOrDevelopment,
        parameters: [
            ActionParameter("record_type", "The record type.", .string(maximum: 63), isRequired: true)
        ],
        result: classAccess,
        errors: [.permissionDenied],
        cost: .read,
        effect: .reads
    )

    static let schemaDefaultAccess = ActionDescription(
        .schemaDefaultAccess,
        "Says which access list new records of a type get that bring none, as in Skygear.",
        requirement: .masterOrDevelopment,
        parameters: [
            ActionParameter("type", "The record type.", .string(maximum: 63), isRequired: true), defaultAccessList,
        ],
        result: .object([
            JSONMember("type", .string(maximum: 63), isRequired: true),
            JSONMember("default_access", .nullable(.array(of: .named(.accessEntry))), isRequired: true),
        ]),
        errors: [.permissionDenied],
        cost: .write,
        effect: .once
    )

    static let schemaFieldAccessGet = ActionDescription(
        .schemaFieldAccessGet,
        "Returns the rules of fields of all types, as far as Skygear's form says them.",
        requirement: .masterOrDevelopment,
        parameters: [],
        result: fieldAccess,
        errors: [.permissionDenied],
        cost: .read,
        effect: .reads
    )

    static let schemaFieldAccessUpdate = ActionDescription(
        .schemaFieldAccessUpdate,
        "Replaces the rules of fields of all types that Skygear's form says, as in Skygear.",
        requirement: .masterOrDevelopment,
        parameters: [
            ActionParameter(
                "access",
                "The rules; * stands for every type and for every field.",
                .array(of: fieldAccessRule),
                isRequired: true
            )
        ],
        result: fieldAccess,
        errors: [.permissionDenied],
        cost: .write,
        effect: .once
    )

    private static let fieldAccess = JSONShape.object([
        JSONMember("access", .array(of: fieldAccessRule), isRequired: true)
    ])

    private static let fieldAccessRule = JSONShape.object([
        JSONMember("record_type", .string(maximum: 63), isRequired: true),
        JSONMember("record_field", .string(maximum: 63), isRequired: true),
        JSONMember("user_role", .string(maximum: 264), isRequired: true),
        JSONMember("writable", .boolean, isRequired: true),
        JSONMember("readable", .boolean, isRequired: true),
        JSONMember("comparable", .boolean, isRequired: true),
        JSONMember("discoverable", .boolean, isRequired: true),
    ])

    static let recordTransfer = ActionDescription(
        .recordTransfer,
        "Gives public records to another owner.",
        requirement: .userOrMaster,
        parameters: [
            ActionParameter(
                "ids",
                "Record ids.",
                .array(of: .named(.recordID), minimum: 1),
                isRequired: true
            ),
            ActionParameter("to", "The id of the user whose they are to be.", .string(maximum: 255), isRequired: true),
        ],
        result: .array(of: .named(.recordEntry)),
        errors: [.permissionDenied, .resourceNotFound, .notSupported, .userDisabled],
        cost: .write,
        effect: .once
    )

    private static let defaultAccessList = ActionParameter(
        "default_access",
        "The list; null for none.",
        .nullable(.array(of: .named(.accessEntry))),
        isRequired: true
    )

    private static let classAccess = JSONShape.object([
        JSONMember("record_type", .string(maximum: 63), isRequired: true),
        JSONMember(
            "rules",
            .object(ClassAction.allCases.map { JSONMember($0.rawValue, rule(of: $0), isRequired: true) }),
            isRequired: true
        ),
        JSONMember("fields", .object([], others: .object([], others: .any))),
        JSONMember("default_access", .nullable(.array(of: .named(.accessEntry))), isRequired: true),
        JSONMember(
            "list_by",
            .nullable(.oneOfStrings(ClassAccess.ListWriters.allCases.map(\.rawValue))),
            isRequired: true
        ),
        JSONMember(
            "list_read_by",
            .nullable(.oneOfStrings(ClassAccess.ListReaders.allCases.map(\.rawValue))),
            isRequired: true
        ),
        JSONMember(
            "transfer_by",
            .oneOfStrings(ClassAccess.Transferrers.allCases.map(\.rawValue)),
            isRequired: true
        ),
        JSONMember("creator", .oneOfStrings(ClassAccess.NewOwner.allCases.map(\.rawValue)), isRequired: true),
        JSONMember("private", .boolean, isRequired: true),
        JSONMember("aggregate", .boolean, isRequired: true),
    ])

    private static func rule(of action: ClassAction) -> JSONShape {
        let allow = JSONMember("allow", .array(of: .object([], others: .any)), isRequired: true)
        switch action {
        case .create: return .object([allow])
        case .read, .update, .delete:
            return .object([allow, JSONMember("mode", .oneOfStrings(ClassRule.Mode.allCases.map(\.rawValue)))])
        }
    }
}
