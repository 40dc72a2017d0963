/// What one request may see and change of the records of a database, decided once for everything that it does.
///
/// The actions layer makes it of a caller and the database that the request names; the store and the resolver of queries
/// take it instead of the caller, and judge nothing. Rules that come later (of classes, groups and relations) are settled
/// here too, so that no statement is made of anything else.
///
/// ```swift
/// let access = try RecordAccess(opening: request.database, for: .writing, by: caller, variables: variables)
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
    /// The records that may be changed and deleted; none where nothing may be written.
    package let write: AccessScope
    /// The public records that private ones may refer to; in a database without private records the same as ``read``.
    package let shared: AccessScope
    /// The subjects that lists of records are compared with; nil where no list can name one.
    package let variables: AccessVariables?

    /// Settles what a caller may do in a database; nothing where the database is not open to it.
    ///
    /// - Parameter variables: the caller's user and roles, made before (``AccessVariables``).
    package init(in database: DatabaseScope, for use: Use, by caller: Caller, variables: AccessVariables?) {
        self.database = database
        self.variables = variables
        actor = caller.userID
        fields = FieldAccess(caller)
        read = AccessScope(caller: caller, level: .read, database: database)
        switch use {
        case .reading: write = .nothing(in: database)
        case .writing: write = AccessScope(caller: caller, level: .write, database: database)
        }
        switch database {
        case .user: shared = AccessScope(caller: caller, level: .read, database: .everyone)
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
        variables: AccessVariables?
    ) throws(SkyrowError) {
        let database = try RecordAccess.open(name, for: use, by: caller)
        self.init(in: database, for: use, by: caller, variables: variables)
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
    package var mayWrite: Bool { !write.clauses.isEmpty }

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

/// The user and the roles of a caller in the form that statements compare access lists with.
///
/// They are made where SQL is made, and kept for callers with many roles.
package struct AccessVariables: Hashable, Sendable {
    /// `{"u":["<user id>"],"r":["<role>",…]}`
    package let json: String
    /// `{"<role>":null,…}`, in which the roles of a list are looked up; nil for a caller with few roles.
    package let roleKeys: String?

    package init(json: String, roleKeys: String?) {
        self.json = json
        self.roleKeys = roleKeys
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
