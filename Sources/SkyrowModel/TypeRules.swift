/// What is special about a record type: where its records come from, where they live, and who sees and changes single
/// fields.
///
/// ```swift
/// let rules = TypeRules.ofProfiles(loginKeys: [username, email])
/// rules.refusal(saving: draft, in: .user("ann"))  // 102, profiles are public records
/// ```
package struct TypeRules: Hashable, Sendable {
    /// Where the records of a type come from.
    package enum Origin: Hashable, Sendable {
        /// A save creates them, and a delete deletes them.
        case saves
        /// They are made with accounts and go with them; a save changes them only.
        case accounts
    }

    package var origin: Origin
    /// Whether private databases have no record of the type.
    package var isPublicOnly: Bool
    /// The fields whose values are checked as login keys.
    package var loginKeys: [FieldName]
    /// The fields that cannot be renamed or deleted.
    package var requiredFields: Set<FieldName>
    package var fields: FieldRules

    private init(
        origin: Origin = .saves,
        isPublicOnly: Bool = false,
        loginKeys: [FieldName] = [],
        requiredFields: Set<FieldName> = [],
        fields: FieldRules = .none
    ) {
        self.origin = origin
        self.isPublicOnly = isPublicOnly
        self.loginKeys = loginKeys
        self.requiredFields = requiredFields
        self.fields = fields
    }

    /// A type with nothing special about it.
    package static let none = TypeRules()

    /// The rules of the type `user`, whose records are the profiles of accounts.
    package static func ofProfiles(
        loginKeys: [FieldName],
        readers: [FieldName: FieldRule.Readers] = FieldRules.loginKeyReaders
    ) -> TypeRules {
        TypeRules(
            origin: .accounts,
            isPublicOnly: true,
            loginKeys: loginKeys,
            requiredFields: profileFields,
            fields: .ofLoginKeys(loginKeys, readers: readers)
        )
    }

    /// The rules that a type has in every application; its login keys are a matter of settings.
    package static func builtIn(_ type: RecordTypeName) -> TypeRules {
        type == .user ? profiles : .none
    }

    private static let profiles = ofProfiles(loginKeys: [])
    private static let profileFields = Set(["username", "email", "last_login_at"].compactMap { try? FieldName($0) })

    /// Why a draft cannot be saved by any caller; nil when that depends on what is stored.
    package func refusal(saving draft: RecordDraft, in database: DatabaseScope) -> SkyrowError? {
        let type = draft.id.type
        if isPublicOnly, database != .everyone {
            return SkyrowError(.permissionDenied, "Records of the type \(type) live in the public database only.")
        }
        // What an operator would make of a login key could not be checked.
        for field in draft.operators where loginKeys.contains(field.name) {
            return .invalidArgument("A field that accounts log in with takes no operator.")
                .inOperator(on: field.name.rawValue)
        }
        switch origin {
        case .saves:
            return nil
        case .accounts:
            guard draft.precondition == .isNew || draft.id.isTemporary else { return nil }
            return SkyrowError(.permissionDenied, "Records of the type \(type) come into being through auth:signup.")
        }
    }

    /// Why a record of the type cannot be deleted by any caller.
    package var refusalOfDeleting: SkyrowError? {
        switch origin {
        case .saves: nil
        case .accounts: SkyrowError(.permissionDenied, "The profile of an account is not deleted.")
        }
    }
}
