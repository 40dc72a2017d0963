internal import Synchronization

/// What one request may see and change of the records of a database, decided once for the whole request.
///
/// The actions layer creates it from a caller and the database of the request; the store and the query resolver take it instead
/// of the caller, and decide nothing. The open records also depend on the rules of their type, so the access is requested by
/// type (``of(_:)``), and every statement is built from that.
///
/// ```swift
/// let access = try RecordAccess(opening: request.database, for: .writing, by: caller)
/// let outcomes = try await store.save(items, with: access, atomic: false)
/// ```
///
/// A class, since all parts of a request refer to it, and since one instance can serve many requests.
package final class RecordAccess: Sendable {
    /// What a request does with records.
    package enum Use: Hashable, Sendable {
        /// The request writes nothing.
        case reading
        case writing
    }

    /// The rows that the request works on.
    package let database: DatabaseScope
    /// The user who is recorded as the author of writes.
    package let actor: UserID?
    /// The caller for the rules of fields.
    package let fields: FieldAccess
    /// The access to types without rules.
    package let standard: TypeAccess
    private let caller: Caller
    private let audience: Audience
    private let use: Use
    /// The access to types with rules, as far as it was requested.
    private let settled = Mutex<[ObjectIdentifier: (rules: ClassRules, access: TypeAccess)]>([:])

    /// Upper bound on cached types with rules, at which the cache is cleared: a service keeps one instance for each user.
    private static let capacity = 16

    /// Decides what a caller may do in a database; nothing when the database is not open to the caller.
    ///
    /// - Parameter audience: the caller's audience, if it was computed before.
    package init(in database: DatabaseScope, for use: Use, by caller: Caller, audience: Audience? = nil) {
        // The master key passes every access list.
        let isNamed = !caller.isMaster && (caller.userID != nil || caller.keyName != nil)
        let audience = isNamed ? audience ?? Audience(of: caller) : .anonymous
        self.database = database
        self.caller = caller
        self.audience = audience
        self.use = use
        actor = caller.userID
        fields = FieldAccess(caller, audience)
        standard = TypeAccess(in: database, for: use, by: caller, audience)
    }

    /// Returns the access to records of a type with these rules.
    package func of(_ rules: TypeRules) -> TypeAccess {
        of(rules.classes)
    }

    /// Whether records of a type with these rules may be created, without a copy of the whole access.
    package func mayCreate(_ rules: TypeRules) -> Bool {
        rules.classes == nil || passesEveryRule ? standard.mayCreate : of(rules.classes).mayCreate
    }

    package func of(_ rules: ClassRules?) -> TypeAccess {
        guard let rules, !passesEveryRule else { return standard }
        let key = ObjectIdentifier(rules)
        if let known = settled.withLock({ $0[key]?.access }) { return known }
        let access = TypeAccess(in: database, for: use, by: caller, audience, rules)
        settled.withLock { settled in
            if settled.count >= Self.capacity { settled.removeAll(keepingCapacity: true) }
            settled[key] = (rules, access)
        }
        return access
    }

    /// Throws `102 PermissionDenied` when the key of the request may not read records of a type.
    package func requireReading(_ type: RecordTypeName) throws(SkyrowError) {
        if let scope = caller.key?.missing(reading: type) { throw .scopeMissing(scope) }
    }

    /// Throws `102 PermissionDenied` when the key of the request may not change records of a type.
    package func requireWriting(_ type: RecordTypeName) throws(SkyrowError) {
        if let scope = caller.key?.missing(writing: type) { throw .scopeMissing(scope) }
    }

    /// Whether the key of the request may be limited to some types.
    package var hasScopes: Bool { caller.key != nil }

    /// The user whose id conditions compare, and the subject keys of the audience.
    package var conditionUser: UserID? { audience.user }
    package var audienceText: String { audience.text }
    /// The name of the request's key, for rules that name it.
    package var keyName: KeyName? { audience.keyName }

    /// Opens a database for a caller.
    ///
    /// Throws `101 NotAuthenticated` for `_private` without a user, for `_union` without the master key, and for writing
    /// without either; `102 PermissionDenied` for another user's database and for a server key without the scope for private
    /// databases; and `111 NotSupported` for writing to `_union`.
    package convenience init(
        opening name: DatabaseName,
        for use: Use,
        by caller: Caller,
        audience: Audience? = nil
    ) throws(SkyrowError) {
        let database = try RecordAccess.open(name, for: use, by: caller)
        self.init(in: database, for: use, by: caller, audience: audience)
    }

    private static func open(
        _ name: DatabaseName,
        for use: Use,
        by caller: Caller
    ) throws(SkyrowError) -> DatabaseScope {
        if use == .writing, !caller.isMaster, caller.userID == nil { throw .logInFirst }
        // A logged-in user opens their own database; a server key takes the place of the master key, and needs the scope.
        if caller.isMaster, name != .everyone, let key = caller.key, !key.opensPrivateDatabases {
            throw .scopeMissing(KeyScope.readPrivate.text)
        }
        switch name {
        case .everyone:
            return .everyone
        case .own:
            guard let user = caller.userID else { throw .privateNeedsUser }
            return .user(user)
        case .user(let owner):
            guard caller.isMaster || caller.userID == owner else { throw .databaseOfAnother }
            return .user(owner)
        case .union:
            guard caller.isMaster else { throw .unionNeedsMaster }
            guard use == .reading else { throw .unionIsReadOnly }
            return .union
        }
    }

    /// Whether the caller passes every rule, as with the master key.
    package var passesEveryRule: Bool { fields.isUnrestricted }

    package var mayWrite: Bool { !standard.update.isEmpty }

    /// The owner of a new record: the user of a private database, otherwise the actor.
    package var newOwner: UserID? {
        switch database {
        case .user(let user): user
        case .everyone, .union: actor
        }
    }

    /// Whether the database may contain records that the caller cannot read; a private one contains only readable records.
    package var hidesRecords: Bool {
        switch database {
        case .everyone, .union: !passesEveryRule
        case .user: false
        }
    }
}

/// What a caller may do with the records of one type in a database, decided from the rules of the type and the caller.
package struct TypeAccess: Hashable, Sendable {
    /// The records that may be read.
    package let read: AccessScope
    /// The records that may be changed; empty when nothing may be written.
    package let update: AccessScope
    /// The records that may be deleted; empty when nothing may be written.
    package let delete: AccessScope
    /// The public records that private ones may refer to; the same as ``read`` in a database without private records.
    package let shared: AccessScope
    package let mayCreate: Bool

    fileprivate init(
        in database: DatabaseScope,
        for use: RecordAccess.Use,
        by caller: Caller,
        _ audience: Audience,
        _ rules: ClassRules? = nil
    ) {
        func scope(_ action: AccessAction, _ database: DatabaseScope) -> AccessScope {
            AccessScope(caller: caller, audience: audience, action: action, database: database, rules: rules)
        }
        read = scope(.read, database)
        switch use {
        case .reading:
            update = AccessScope(database: database, .never)
            delete = update
            mayCreate = false
        case .writing:
            update = scope(.update, database)
            delete = scope(.delete, database)
            switch database {
            case .everyone:
                mayCreate = caller.isMaster || (rules?.allowsCreating(by: audience) ?? (caller.userID != nil))
            case .user, .union:
                mayCreate = !update.isEmpty
            }
        }
        switch database {
        case .user: shared = scope(.read, .everyone)
        case .everyone, .union: shared = read
        }
    }

    /// Returns the records that an action is allowed on.
    package func scope(of action: AccessAction) -> AccessScope {
        switch action {
        case .read: read
        case .update: update
        case .delete: delete
        }
    }

    /// The scopes of the readable records that a reference may lead to; a target is in one of them.
    package var referenced: [AccessScope] {
        switch read.database {
        case .everyone, .union: [read]
        // Private records refer to those of the same database and to public ones.
        case .user: [read, shared]
        }
    }
}

extension SkyrowError {
    fileprivate static let logInFirst = SkyrowError(.notAuthenticated, "Log in first.")
    fileprivate static let privateNeedsUser = SkyrowError(.notAuthenticated, "Log in to use your private database.")
    fileprivate static let unionNeedsMaster = SkyrowError(
        .notAuthenticated,
        "The database _union requires the master key."
    )
    fileprivate static let unionIsReadOnly = SkyrowError(.notSupported, "The database _union is read-only.")
    fileprivate static let databaseOfAnother = SkyrowError(.permissionDenied, "This database belongs to another user.")
}
