public import SkyrowModel

/// Who creates records of a type, as `schema:access` of Skygear says it.
public struct CreateRoles: Hashable, Sendable {
    public var type: RecordTypeName
    /// Empty for every logged-in user.
    public var roles: [RoleName]

    public init(type: RecordTypeName, roles: [RoleName]) {
        self.type = type
        self.roles = roles
    }

    fileprivate static let form = Form(
        CreateRoles.init(type:roles:),
        Member("type", \.type, .recordType, "The record type."),
        Member(
            "create_roles",
            \.roles,
            .list(of: .roleName, atMost: ClassRule.utmostSubjects),
            "The names of roles; an empty array means every logged-in user."
        )
    )
}

/// The access list of new public records of a type that are saved without one.
public struct TypeDefaultAccess: Hashable, Sendable {
    public var type: RecordTypeName
    /// nil for no list.
    public var access: AccessList?

    public init(type: RecordTypeName, access: AccessList?) {
        self.type = type
        self.access = access
    }

    fileprivate static let form = Form(
        TypeDefaultAccess.init(type:access:),
        Member("type", \.type, .recordType, "The record type."),
        Member("default_access", \.access, .accessList, "The access list; null for no list.")
    )
}

/// The rules of a type.
public struct TypeClassAccess: Hashable, Sendable {
    public var type: RecordTypeName
    public var access: ClassAccess

    public init(type: RecordTypeName, access: ClassAccess) {
        self.type = type
        self.access = access
    }
}

extension Actions {
    /// Sets which roles create records of a type, and returns them; changes none of its other rules.
    public static let schemaAccess = Action<CreateRoles, CreateRoles>(
        "schema:access",
        "Sets the roles that may create records of a type, as in Skygear.",
        requires: .masterOrDevelopment,
        scope: .named,
        cost: .write,
        effect: .repeatable,
        errors: [.permissionDenied],
        CreateRoles.form,
        result: .object(CreateRoles.form)
    )

    /// Changes the rules of a type, and returns all of them.
    public static let schemaAccessSet = Action<ClassAccessChange, TypeClassAccess>(
        "schema:access:set",
        "Changes the rules of a type: who may create, read, update and delete its records, and the defaults of new records.",
        requires: .masterOrDevelopment,
        scope: .named,
        cost: .write,
        effect: .repeatable,
        errors: [.permissionDenied],
        ClassAccessChange.form,
        result: .classAccess
    )

    /// The rules of a type, which need not exist.
    public static let schemaAccessGet = Action<RecordTypeName, TypeClassAccess>(
        "schema:access:get",
        "Returns the rules of a type: who may create, read, update and delete its records, and the defaults of new records.",
        requires: .masterOrDevelopment,
        scope: .named,
        cost: .read,
        effect: .reads,
        errors: [.permissionDenied],
        Form("record_type", .recordType, "The record type."),
        result: .classAccess
    )

    /// Sets the access list of new records of a type, and returns it; changes none of its other rules.
    public static let schemaDefaultAccess = Action<TypeDefaultAccess, TypeDefaultAccess>(
        "schema:default_access",
        "Sets the access list of new public records of a type that have none, as in Skygear.",
        requires: .masterOrDevelopment,
        scope: .named,
        cost: .write,
        effect: .repeatable,
        errors: [.permissionDenied],
        TypeDefaultAccess.form,
        result: .object(TypeDefaultAccess.form)
    )

    /// The rules of fields of all types that Skygear's form can express.
    package static let schemaFieldAccessGet = Action<Void, [SkygearFieldRule]>(
        "schema:field_access:get",
        "Returns the rules of fields of all types that Skygear's form can express.",
        requires: .masterOrDevelopment,
        scope: .named,
        cost: .read,
        effect: .reads,
        errors: [.permissionDenied],
        .none,
        result: .object(fieldRules)
    )

    /// Replaces the rules of fields that Skygear's form can express, and returns the resulting ones.
    package static let schemaFieldAccessUpdate = Action<[SkygearFieldRule], [SkygearFieldRule]>(
        "schema:field_access:update",
        "Replaces the rules of fields of all types that Skygear's form can express.",
        requires: .masterOrDevelopment,
        scope: .named,
        cost: .write,
        effect: .repeatable,
        errors: [.permissionDenied],
        fieldRules,
        result: .object(fieldRules)
    )

    private static let fieldRules = Form("access", .skygearFieldRules, "The rules, in the order in which they apply.")
}
