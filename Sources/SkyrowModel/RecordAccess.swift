/// What one request may see and change of the records of a database, decided once for everything that it does.
///
/// The actions layer makes it of a caller and the database that the request names; the store and the resolver of queries
/// take it instead of the caller, and judge nothing. Rules that come later (of classes, groups and relations) are settled
/// here too, so that no statement is made of anything else.
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
    /// The records that may be read.
    package let read: AccessScope
    /// The records that may be changed; none where nothing may be written.
    package let update: AccessScope
    /// The records that may be deleted; none where nothing may be written.
    package let delete: AccessScope
    /// The public records that private ones may refer to; in a database without private records the same as ``read``.
    package let shared: AccessScope

    /// Settles what a caller may do in a database; nothing where the database is not open to it.
    ///
    /// - Parameter audience: the caller's, where it was made before.
    package init(in database: DatabaseScope, for use: Use, by caller: Caller, audience: Audience? = nil) {
        // The master key passes all lists.
        let isNamed = !caller.isMaster && caller.userID != nil
        let audience = isNamed ? audience ?? Audience(of: caller) : .anonymous
        func scope(_ action: AccessAction, _ database: DatabaseScope) -> AccessScope {
            AccessScope(caller: caller, audience: audience, action: action, database: database)
        }
        self.database = database
        actor = caller.userID
        fields = FieldAccess(caller)
        read = scope(.read, database)
        switch use {
        case .reading:
            update = .nothing(in: database)
            delete = update
        case .writing:
            update = scope(.update, database)
            delete = scope(.delete, database)
        }
        switch database {
        case .user: shared = scope(.read, .everyone)
        case .everyone, .union: shared = read
        }
    }

    /// Opens a database for a caller.
    ///
    /// Throws `101 NotAuthenticated` for `_private` without a user, for `_union` without the master key and for any
    /// database that is to be written to without either; `102 PermissionDenied` for another user's database, and `111
    /// NotSupported` for `_union` where it is to be written to.
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
    package var mayWrite: Bool { !update.clauses.isEmpty }

    /// The records with which something may be done.
    package func scope(of action: AccessAction) -> AccessScope {
        switch action {
        case .read: read
        case .update: update
        case .delete: delete
        }
    }

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
