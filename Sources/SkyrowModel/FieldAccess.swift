/// Whom the rules of fields (``FieldRules``) are asked about.
package enum FieldAccess: Hashable, Sendable {
    /// One who passes every rule: the master key, or the service itself.
    case unrestricted
    case user(UserID)
    /// One who is not logged in, and so owns nothing.
    case anonymous

    package init(_ caller: Caller) {
        switch caller.kind {
        case .anonymous: self = .anonymous
        case .user(let user): self = .user(user)
        case .master: self = .unrestricted
        }
    }

    /// The user, where rules hold for one.
    package var user: UserID? {
        switch self {
        case .unrestricted, .anonymous: nil
        case .user(let user): user
        }
    }

    package var isUnrestricted: Bool {
        switch self {
        case .unrestricted: true
        case .user, .anonymous: false
        }
    }

    /// Whether this is the owner of a record.
    func owns(_ record: Record) -> Bool {
        guard let user else { return false }
        return record.owner == user
    }
}
