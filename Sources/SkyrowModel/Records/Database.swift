/// The database that a request names in `database_id`.
public enum DatabaseName: Hashable, Sendable {
    /// `_public`, also the default
    case everyone
    /// `_private`: the caller's own
    case own
    /// A user id: that user's private database
    case user(UserID)
    /// `_union`: all databases, for the master key to read
    case union

    /// Parses `database_id`; throws `108 InvalidArgument` for an unknown name with a leading underscore and for a text that no
    /// account can have as its id.
    public init(_ text: String?) throws(SkyrowError) {
        switch text {
        case nil, "", "_public": self = .everyone
        case "_private": self = .own
        case "_union": self = .union
        case .some(let other):
            let user = UserID(other)
            guard user.fitsAccount else { throw .invalidArgument("The database does not exist.", "database_id") }
            self = .user(user)
        }
    }
}

/// The rows that a request works on, after the caller's right to open them was checked.
public enum DatabaseScope: Hashable, Sendable {
    /// The shared database; access lists apply.
    case everyone
    /// One user's private database; access lists do not apply.
    case user(UserID)
    /// Every database at once, read-only.
    case union
}
