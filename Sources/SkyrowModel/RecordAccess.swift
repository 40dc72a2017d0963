internal import Synchronization

/// What one request may see and change of the records of a database, decided once for everything that it does.
///
/// The actions layer makes it of a caller and the database that the request names; the store and the resolver of queries
/// take it instead of the caller, and judge nothing. Which records are open depends on the rules of their type too, so it is
/// asked for by type (``of(_:)``), and no statement is made of anything else.
///
/// ```swift
/// let access = try RecordAccess(opening: request.database, for: .writing, by: caller)
/// let outcomes = try await store.save(items, with: access, atomic: false)
/// ```
///
/// An object, since everything that a request does refers to it, and so that one can serve many requests.
package final class RecordAccess: Sendable {
    /// What a request does with records.
    package enum Use: Hashable, Sendable {
        /// Nothing may be written.
        case reading
        case writing
    }

    /// The rows that the request works on.
    package let database: DatabaseScope
    /// The user who signs what is written.
    package let actor: UserID?
    /// Which rules of fields hold.
    package let fields: FieldAccess
    /// What is open of the types without rules of their own.
    package let standard: TypeAccess
    private let caller: Caller
    private let audience: Audience
    private let use: Use
    /// What is open of types with rules, as far as it was asked for.
    private let settled = Mutex<[ObjectIdentifier: (rules: ClassRules, access: TypeAccess)]>([:])

    /// Beyond this many types with rules the least work is to begin again: a service keeps one of these for each user.
    private static let capacity = 16

    /// Settles what a caller may do in a database; nothing where the database is not open to it.
    ///
    /// - Parameter audience: the caller's, where it was made before.
    package init(in database: DatabaseScope, for use: Use, by caller: Caller, audience: Audience? = nil) {
        // The master key passes all lists.
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

    /// What is open of the records of a type with these rules.
    package func of(_ rules: TypeRules) -> TypeAccess {
        of(rules.classes)
    }

    /// Whether records of a type with these rules may be made, without a copy of all that is open of them.
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

    /// Throws `102 PermissionDenied` where the key of the request is not for records of a type.
    package func requireReading(_ type: RecordTypeName) throws(SkyrowError) {
        if let scope = caller.key?.missing(reading: type) { throw .scopeMissing(scope) }
    }

    /// Throws `102 PermissionDenied` where the key of the request does not change records of a type.
    package func requireWriting(_ type: RecordTypeName) throws(SkyrowError) {
        if let scope = caller.key?.missing(writing: type) { throw .scopeMissing(scope) }
    }

    /// Whether the key of the request may be limited to some types.
    package var hasScopes: Bool { caller.key != nil }

    /// The user whose ids conditions ask for, and the keys of the audience in them.
    package var conditionUser: UserID? { audience.user }
    package var audienceText: String { audience.text }
    /// The name of the key of the request, where rules ask for it.
    package var keyName: KeyName? { audience.keyName }

    /// Opens a database for a caller.
    ///
    /// Throws `101 NotAuthenticated` for `_private` without a user, for `_union` without the master key and for any
    /// database that is to be written to without either; `102 PermissionDenied` for another user's database and for a key of a server
    /// that is not for private ones, and `111 NotSupported` for `_union` where it is to be written to.
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
        // Of a user who is logged in, the database is its own; a server's key is in the place of the master key.
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
            guard caller.isMaster || caller.userID == owner else {
                throw .databaseOfAnother
            }
            return .user(owner)
        case .union:
            guard caller.isMaster else { throw .unionNeedsMaster }
            guard use == .reading else { throw .unionIsReadOnly }
            return .union
        }
    }

    /// Whether every rule is passed, as by the master key.
    package var passesEveryRule: Bool { fields.isUnrestricted }

    /// Whether anything may be written.
    package var mayWrite: Bool { !standard.update.isEmpty }

    /// Whose a new record is: in a private database its user's, else the actor's.
    package var newOwner: UserID? {
        switch database {
        case .user(let user): user
        case .everyone, .union: actor
        }
    }

    /// Whether the database may hold records that cannot be read: a private one holds none.
    package var hidesRecords: Bool {
        switch database {
        case .everyone, .union: !passesEveryRule
        case .user: false
        }
    }
}

/// What is open to a caller of the records of one type in a database: the rules of the type and the caller, settled.
package struct TypeAccess: Hashable, Sendable {
    /// The records that may be read.
    package let read: AccessScope
    /// The records that may be changed; none where nothing may be written.
    package let update: AccessScope
    /// The records that may be deleted; none where nothing may be written.
    package let delete: AccessScope
    /// The public records that private ones may refer to; in a database without private records the same as ``read``.
    package let shared: AccessScope
    /// Whether new records may be made.
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
            update = .nothing(in: database)
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

    /// The records with which something may be done.
    package func scope(of action: AccessAction) -> AccessScope {
        switch action {
        case .read: read
        case .update: update
        case .delete: delete
        }
    }

    /// The records that a reference may lead to, as far as they may be read: those of one of these scopes.
    package var referenced: [AccessScope] {
        switch read.database {
        case .everyone, .union: [read]
        // Private records refer to those of the same database, and to public ones.
        case .user: [read, shared]
        }
    }
}

extension SkyrowError {
    fileprivate static let logInFirst = SkyrowError(.notAuthenticated, "Log in first.")
    fileprivate static let privateNeedsUser = SkyrowError(.notAuthenticated, "Log in to use your private database.")
    fileprivate static let unionNeedsMaster = SkyrowError(
        .notAuthenticated,
        "The database _union is open to the master key only."
    )
    fileprivate static let unionIsReadOnly = SkyrowError(
        .notSupported,
        "The database _union is for reading only."
    )
    fileprivate static let databaseOfAnother = SkyrowError(
        .permissionDenied,
        "This database belongs to another user."
    )
}
