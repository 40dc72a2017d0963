/// The caller to which the rules of fields (``FieldRules``) apply.
package enum FieldAccess: Hashable, Sendable {
    /// A caller that passes every rule: the master key, or the service itself.
    case unrestricted
    /// A caller with all subjects that rules may name.
    case audience(Audience)

    /// A caller without a login, who owns nothing.
    package static let anonymous = FieldAccess.audience(.anonymous)

    package init(_ caller: Caller) {
        self.init(caller, Audience(of: caller))
    }

    /// - Parameter audience: the caller's audience.
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

    /// The audience for the rules; nil for a caller that passes all of them.
    var audience: Audience? {
        switch self {
        case .unrestricted: nil
        case .audience(let audience): audience
        }
    }

    /// The logged-in user; nil for a caller that passes every rule.
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

    /// Whether the caller owns a record.
    func owns(_ record: Record) -> Bool {
        guard let user else { return false }
        return record.owner == user
    }
}
