// The actions about the rules of record types.

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
        changesData: true
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
                "private",
                "Whether private databases have records of the type.",
                .nullable(.boolean)
            ),
        ],
        result: classAccess,
        errors: [.permissionDenied],
        cost: .write,
        changesData: true
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
        changesData: false
    )

    private static let classAccess = JSONShape.object([
        JSONMember("record_type", .string(maximum: 63), isRequired: true),
        JSONMember(
            "rules",
            .object(ClassAction.allCases.map { JSONMember($0.rawValue, rule(of: $0), isRequired: true) }),
            isRequired: true
        ),
        JSONMember("default_access", .nullable(.array(of: .named(.accessEntry))), isRequired: true),
        JSONMember(
            "list_by",
            .nullable(.oneOfStrings(ClassAccess.ListWriters.allCases.map(\.rawValue))),
            isRequired: true
        ),
        JSONMember("private", .boolean, isRequired: true),
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
