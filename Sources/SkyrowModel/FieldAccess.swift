/// Whom the rules of fields (``FieldRules``) are asked about.
package enum FieldAccess: Hashable, Sendable {
    /// One who passes every rule: the master key, or the service itself.
    case unrestricted
    /// One with all that rules may name of it.
    case audience(Audience)

    /// One who is not logged in, and so owns nothing.
    package static let anonymous = FieldAccess.audience(.anonymous)

    package init(_ caller: Caller) {
        self.init(caller, Audience(of: caller))
    }

    /// - Parameter audience: the caller's, made before.
    init(_ caller: Caller, _ audience: Audience) {
        switch caller.kind {
        case .anonymous, .user: self = .audience(audience)
        case .master: self = .unrestricted
        }
    }

    /// A user without roles and groups.
    package static func user(_ id: UserID) -> FieldAccess {
        .audience(Audience(user: id))
    }

    /// Whom the rules are asked about; nil for one who passes all of them.
    var audience: Audience? {
        switch self {
        case .unrestricted: nil
        case .audience(let audience): audience
        }
    }

    /// The user, where rules hold for one.
    package var user: UserID? {
        switch self {
        case .unrestricted: nil
        case .audience(let audience): audience.user
        }
    }

    package var isUnrestricted: Bool {
        switch self {
        case .unrestricted: true
        case .audience: false
        }
    }

    /// Whether this is the owner of a record.
    func owns(_ record: Record) -> Bool {
        guard let user else { return false }
        return record.owner == user
    }
}
