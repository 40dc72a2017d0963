/// What is special about a record type: the origin and the database of its records, and who sees and changes single fields.
///
/// ```swift
/// let rules = TypeRules.ofProfiles(loginKeys: [username, email])
/// rules.refusal(saving: draft, in: .user("ann"))  // 102, profiles are public records
/// ```
package struct TypeRules: Hashable, Sendable {
    /// The origin of the records of a type.
    package enum Origin: Hashable, Sendable {
        /// A save creates them, and a delete deletes them.
        case saves
        /// They are created and deleted with accounts; a save only changes them.
        case accounts
    }

    package var origin = Origin.saves
    /// Whether private databases have no records of the type.
    package var isPublicOnly = false
    /// The fields whose values are checked as login keys.
    package var loginKeys: [FieldName] = []
    /// The fields that cannot be renamed or deleted.
    package var requiredFields: Set<FieldName> = []
    package var fields = FieldRules.none
    /// Who creates, reads, changes and deletes records; nil for the standard rules.
    package var classes: ClassRules?
    /// The access list of a new public record that is saved without one.
    package var defaultAccess: AccessList?
    /// The owner of a new public record.
    package var newOwner = ClassAccess.NewOwner.creator
    /// Who may transfer public records to other owners.
    package var transferrers = ClassAccess.Transferrers.master
    /// Whether callers other than the master key may compute aggregates of the records.
    package var allowsAggregates = true

    /// A type without special rules.
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

    /// The rules of roles as records, which are read-only.
    package static let ofRoles = {
        var rules = TypeRules(isPublicOnly: true)
        rules.classes = .ofRoles
        rules.allowsAggregates = false
        return rules
    }()

    /// Returns the rules of a type in every application; its login keys depend on settings.
    package static func builtIn(_ type: RecordTypeName) -> TypeRules {
        type == .user ? profiles : .none
    }

    private static let profiles = ofProfiles(loginKeys: [])
    private static let profileFields = Set(
        ["username", "email", "last_login_at"].compactMap { try? FieldName($0) } + [.verified]
    )

    /// Returns these rules combined with what `schema:access:set` has set for the type.
    ///
    /// - Parameters:
    ///   - every: what was set for every type, of which only the rules of fields apply.
    ///   - relations: the relations of users that access lists of the type's records name.
    ///   - fields: the fields of the type.
    ///   - field: the type of a field; nil for a name that the type lacks.
    package func applying(
        _ access: ClassAccess,
        besides every: ClassAccess = ClassAccess(),
        relations: RelationEntries? = nil,
        fields: some Sequence<FieldName> = EmptyCollection(),
        field: (FieldName) -> FieldType?
    ) -> TypeRules {
        var rules = self
        rules.classes = ClassRules(access, relations: relations, field: field)
        if let list = access.defaultAccess { rules.defaultAccess = list }
        rules.newOwner = access.newOwner
        rules.transferrers = access.transferrers
        rules.allowsAggregates = access.allowsAggregates
        rules.fields = rules.fields.applying(FieldRuleGroups(access, besides: every), fields: fields, type: field)
        if !access.allowsPrivate { rules.isPublicOnly = true }
        switch access.listWriters {
        case .owner?: rules.fields.accessWriters = .owner
        case .update?: rules.fields.accessWriters = .everyone
        case nil: break
        }
        if let readers = access.listReaders { rules.fields.accessReaders = readers }
        return rules
    }

    /// Returns why a draft cannot be saved with an access; nil when that depends on the stored record.
    package func refusal(saving draft: RecordDraft, with access: RecordAccess) -> SkyrowError? {
        if let refusal = refusal(saving: draft, in: access.database) { return refusal }
        guard draft.precondition == .isNew || draft.id.isTemporary else { return nil }
        guard access.mayCreate(self) else { return .creationDenied }
        let denied = fields.refusedInNew(draft, by: access.fields, isOwned: hasOwner(in: access.database))
        return denied.isEmpty ? nil : .fieldsDenied(denied)
    }

    /// Whether a new record has an owner, which in a private database is its user.
    package func hasOwner(in database: DatabaseScope) -> Bool {
        database != .everyone || newOwner == .creator
    }

    /// Returns why no caller can save a draft; nil when that depends on the stored record.
    package func refusal(saving draft: RecordDraft, in database: DatabaseScope) -> SkyrowError? {
        let type = draft.id.type
        if isPublicOnly, database != .everyone {
            return SkyrowError(.permissionDenied, "Records of the type \(type) can only be in the public database.")
        }
        // The result of an operator on a login key could not be checked.
        for field in draft.operators where loginKeys.contains(field.name) {
            return .invalidArgument("A login key does not take operators.")
                .inOperator(on: field.name.rawValue)
        }
        switch origin {
        case .saves:
            return nil
        case .accounts:
            guard draft.precondition == .isNew || draft.id.isTemporary else { return nil }
            return SkyrowError(.permissionDenied, "Records of the type \(type) are created by auth:signup.")
        }
    }

    /// Why no caller can delete a record of the type; nil when records can be deleted.
    package var refusalOfDeleting: SkyrowError? {
        switch origin {
        case .saves: nil
        case .accounts: SkyrowError(.permissionDenied, "The profile of an account cannot be deleted.")
        }
    }
}

extension TypeRules {
    /// Returns why a caller may not compute aggregates of the records; nil when it may.
    package func refusalOfAggregates(with access: RecordAccess) -> SkyrowError? {
        allowsAggregates || access.passesEveryRule ? nil : .aggregatesDenied
    }

    /// Returns why a caller may transfer none of the records to another owner; nil when that depends on the record.
    package func refusalOfTransfer(with access: RecordAccess) -> SkyrowError? {
        switch (origin, transferrers) {
        case (.accounts, _): .transferOfProfile
        case (.saves, .owner): nil
        case (.saves, .master): access.passesEveryRule ? nil : .transferDenied
        }
    }
}

extension SkyrowError {
    fileprivate static let aggregatesDenied = SkyrowError(
        .permissionDenied,
        "Aggregates of this type require the master key."
    )
    package static let transferDenied = SkyrowError(
        .permissionDenied,
        "You may not transfer this record to another owner."
    )
    fileprivate static let transferOfProfile = SkyrowError(
        .permissionDenied,
        "A profile belongs to its account and cannot be transferred."
    )
    /// `102` for a record that does not exist and that the caller may not create.
    package static let creationDenied = SkyrowError(.permissionDenied, "You may not create records of this type.")
}
