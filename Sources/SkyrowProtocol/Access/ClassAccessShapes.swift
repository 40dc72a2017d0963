import SkyrowJSON
package import SkyrowModel

extension Codec<TypeClassAccess> {
    /// All rules of a type, which `schema:access:set` and `schema:access:get` return.
    package static let classAccess = Codec(ClassAccess.shape) { json, name throws(SkyrowError) in
        guard json.isObject else { throw .wrongType(name, "an object") }
        let change = try ClassAccessChange.form.read(json)
        return TypeClassAccess(type: change.type, access: ClassAccess(stated: change))
    } write: { rules, writer in
        ClassAccessChange.form.write(ClassAccessChange(stating: rules.access, of: rules.type), writer)
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
        ClassAccessChange.init(of:_:),
        Member("record_type", \.type, .recordType, "The record type."),
        Member(\.self, members: rulesForm)
    )

    /// The form without the type, which a schema file has in another place.
    static let rulesForm = Form(
        ClassAccessChange.init(
            rules:
            fieldRules:
            defaultAccess:
            listWriters:
            listReaders:
            transferrers:
            newOwner:
            allowsPrivate:
            allowsAggregates:
        ),
        Member("rules", \.rules, .classRules, "The rules to change; null removes a rule.", absent: [:]),
        Member(
            "fields",
            \.fieldRules,
            .fieldRules,
            "The rules of fields by field name, or `*` for every field; null removes a rule, or all rules of a field.",
            absent: FieldRuleChanges()
        ),
        Member(
            keep: "default_access",
            \.defaultAccess,
            .accessList,
            "The access list of new public records that have none; null for that of the setting `default-access`."
        ),
        Member(
            keep: "list_by",
            \.listWriters,
            .nullable(.oneOf),
            """
            Who may change the list of a record: its owner, or all who may update it; null for the setting \
            `shared-access-lists`.
            """
        ),
        Member(
            keep: "list_read_by",
            \.listReaders,
            .nullable(.oneOf),
            """
            Who sees the whole list of a record: its owner, all who may update it, or all who read it; null for the \
            setting `access-list-readers`.
            """
        ),
        Member(
            optional: "transfer_by",
            \.transferrers,
            .oneOf,
            "Who may give records to another owner: only the master key, or also their owner."
        ),
        Member(
            optional: "creator",
            \.newOwner,
            .oneOf,
            "Whether the user who creates a public record becomes its owner; with `none`, the record has no owner."
        ),
        Member(
            optional: "private",
            \.allowsPrivate,
            .boolean,
            "Whether private databases may contain records of the type."
        ),
        Member(
            optional: "aggregate",
            \.allowsAggregates,
            .boolean,
            "Whether callers other than the master key may use `record:aggregate`."
        )
    )

    private init(
        rules: [ClassAction: ClassRule?],
        fieldRules: FieldRuleChanges,
        defaultAccess: AccessList??,
        listWriters: ClassAccess.ListWriters??,
        listReaders: ClassAccess.ListReaders??,
        transferrers: ClassAccess.Transferrers?,
        newOwner: ClassAccess.NewOwner?,
        allowsPrivate: Bool?,
        allowsAggregates: Bool?
    ) {
        // The type follows in init(of:_:).
        self.init(type: .user)
        self.rules = rules
        self.fieldRules = fieldRules
        self.defaultAccess = defaultAccess
        self.listWriters = listWriters
        self.listReaders = listReaders
        self.transferrers = transferrers
        self.newOwner = newOwner
        self.allowsPrivate = allowsPrivate
        self.allowsAggregates = allowsAggregates
    }

    /// The change of a type by these rules; throws `108 InvalidArgument` for a field of the service that the type lacks.
    init(of type: RecordTypeName, _ rules: ClassAccessChange) throws(SkyrowError) {
        self = rules
        self.type = type
        for field in fields.keys.sorted() where field.isReserved && !(type == .user && field == .verified) {
            throw .fieldNameInvalid.at(".\(field)").inParameter("fields")
        }
        fields = fields.filter { !$1.isEmpty }
    }

    var fieldRules: FieldRuleChanges {
        get { FieldRuleChanges(fields: fields, everyField: everyField) }
        set { (fields, everyField) = (newValue.fields, newValue.everyField) }
    }
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
    static func shape(of action: ClassAction) -> JSONShape {
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
