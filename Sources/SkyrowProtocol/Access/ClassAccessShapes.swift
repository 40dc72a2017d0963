import SkyrowJSON
package import SkyrowModel

extension Codec<TypeClassAccess> {
    /// All rules of a type, which `schema:access:set` and `schema:access:get` return.
    package static let classAccess = Codec(ClassAccess.shape) { json, name throws(SkyrowError) in
        guard json.isObject else { throw .wrongType(name, "an object") }
        guard let text = json["record_type"] else {
            throw .invalidArgument("\"record_type\" is missing.", "record_type")
        }
        let type = try Codec<RecordTypeName>.recordType.read(text, "record_type")
        return TypeClassAccess(type: type, access: try ClassAccess(json, of: type))
    } write: { rules, writer in
        writer.classAccess(rules.access, of: rules.type)
    }
}

extension Codec<[SkygearFieldRule]> {
    package static let skygearFieldRules = Codec(
        .array(of: SkygearFieldRule.shape, maximum: SkygearFieldRule.maximumRules)
    ) { json, _ throws(SkyrowError) in
        try SkygearFieldRule.list(json)
    } write: { rules, writer in
        writer.skygearFieldRules(rules)
    }
}

extension ClassAccessChange {
    static let form = Form(
        [
            .recordType,
            MemberDescription(
                "rules",
                "The rules to change; null removes a rule.",
                .nullable(
                    .object(ClassAction.allCases.map { JSONMember($0.rawValue, .nullable(ClassRule.shape(of: $0))) })
                )
            ),
            MemberDescription(
                "fields",
                "The rules of fields by field name, or `*` for every field; null removes a rule, or all rules of a field.",
                .nullable(.object([], others: .nullable(.object([], others: .any))))
            ),
            MemberDescription(
                "default_access",
                "The access list of new public records that have none; null for that of the setting `default-access`.",
                JSONShape.accessList
            ),
            MemberDescription(
                "list_by",
                "Who may change the list of a record: its owner, or all who may update it; null for the setting "
                    + "`shared-access-lists`.",
                .nullable(.oneOfStrings(ClassAccess.ListWriters.allCases.map(\.rawValue)))
            ),
            MemberDescription(
                "list_read_by",
                "Who sees the whole list of a record: its owner, all who may update it, or all who read it; null for "
                    + "the setting `access-list-readers`.",
                .nullable(.oneOfStrings(ClassAccess.ListReaders.allCases.map(\.rawValue)))
            ),
            MemberDescription(
                "transfer_by",
                "Who may give records to another owner: only the master key, or also their owner.",
                .nullable(.oneOfStrings(ClassAccess.Transferrers.allCases.map(\.rawValue)))
            ),
            MemberDescription(
                "creator",
                "Whether the user who creates a public record becomes its owner; with `none`, the record has no owner.",
                .nullable(.oneOfStrings(ClassAccess.NewOwner.allCases.map(\.rawValue)))
            ),
            MemberDescription(
                "private",
                "Whether private databases may contain records of the type.",
                .nullable(.boolean)
            ),
            MemberDescription(
                "aggregate",
                "Whether callers other than the master key may use `record:aggregate`.",
                .nullable(.boolean)
            ),
        ],
        read: { json throws(SkyrowError) in try ClassAccessChange(parameters: json) },
        write: { $1.classAccessParameters($0) }
    )
}

extension ClassAccess {
    fileprivate static let shape = JSONShape.object([
        JSONMember("record_type", .string(maximum: 63), isRequired: true),
        JSONMember(
            "rules",
            .object(ClassAction.allCases.map { JSONMember($0.rawValue, ClassRule.shape(of: $0), isRequired: true) }),
            isRequired: true
        ),
        JSONMember("fields", .object([], others: .object([], others: .any))),
        JSONMember("default_access", JSONShape.accessList, isRequired: true),
        JSONMember("list_by", .nullable(.oneOfStrings(ListWriters.allCases.map(\.rawValue))), isRequired: true),
        JSONMember("list_read_by", .nullable(.oneOfStrings(ListReaders.allCases.map(\.rawValue))), isRequired: true),
        JSONMember("transfer_by", .oneOfStrings(Transferrers.allCases.map(\.rawValue)), isRequired: true),
        JSONMember("creator", .oneOfStrings(NewOwner.allCases.map(\.rawValue)), isRequired: true),
        JSONMember("private", .boolean, isRequired: true),
        JSONMember("aggregate", .boolean, isRequired: true),
    ])
}

extension ClassRule {
    fileprivate static func shape(of action: ClassAction) -> JSONShape {
        let allow = JSONMember("allow", .array(of: .object([], others: .any)), isRequired: true)
        switch action {
        case .create: return .object([allow])
        case .read, .update, .delete:
            return .object([allow, JSONMember("mode", .oneOfStrings(Mode.allCases.map(\.rawValue)))])
        }
    }
}

extension SkygearFieldRule {
    fileprivate static let shape = JSONShape.object([
        JSONMember(
            "record_type",
            .string(maximum: 63),
            isRequired: true,
            "The record type, or `*` for every type; it need not exist yet."
        ),
        JSONMember("record_field", .string(maximum: 63), isRequired: true, "The field, or `*` for every field."),
        JSONMember(
            "user_role",
            .string(maximum: 264),
            isRequired: true,
            "The users: `_owner`, `_user_id:<id>`, `_field:<name>`, `_role:<name>`, `_any_user` or `_public`."
        ),
        JSONMember(
            "writable",
            .boolean,
            isRequired: true,
            "Whether they may set the field: the uses `create` and `update`."
        ),
        JSONMember("readable", .boolean, isRequired: true, "Whether they may see it: the use `read`."),
        JSONMember("comparable", .boolean, isRequired: true, "Whether they may query by it: the use `compare`."),
        JSONMember(
            "discoverable",
            .boolean,
            isRequired: true,
            "Whether they may find known values: the use `discover`."
        ),
    ])
}
