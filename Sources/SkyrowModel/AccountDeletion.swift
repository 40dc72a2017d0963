/// What becomes of the public records of an account that is deleted.
package enum DeletedUserRule: Hashable, Sendable {
    /// They go with the account.
    case delete
    /// They stay, and name no user any more.
    case anonymise
    /// They become those of another user.
    case transfer(to: UserID)

    /// `delete`, `anonymise` or `transfer:<user id>`; nil for another text.
    init?(_ text: Substring) {
        switch text {
        case "delete": self = .delete
        case "anonymise": self = .anonymise
        default:
            let prefix = "transfer:"
            guard text.hasPrefix(prefix) else { return nil }
            let id = String(text.dropFirst(prefix.count))
            guard id.isName, !id.contains("/"), !id.hasPrefix("_"), !id.hasPrefix("~") else { return nil }
            self = .transfer(to: UserID(id))
        }
    }
}

/// What becomes of public records when the account of their owner is deleted, for each type.
///
/// ```swift
/// let rules = DeletedUserRules("note=delete,order=transfer:u1")
/// rules?[type]  // .anonymise for a type that is not named
/// ```
package struct DeletedUserRules: Hashable, Sendable {
    /// That of the types that are not named.
    package var others: DeletedUserRule
    package var types: [RecordTypeName: DeletedUserRule]

    package init(others: DeletedUserRule = .anonymise, types: [RecordTypeName: DeletedUserRule] = [:]) {
        self.others = others
        self.types = types
    }

    /// Reads a rule for all types, and types with `=` and a rule; nil for a text that says nothing, or two things of a type.
    package init?(_ text: String) {
        self.init()
        var hasOthers = false
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            if let equals = part.firstIndex(of: "=") {
                guard let type = try? RecordTypeName(String(part[..<equals])), type != .user,
                    let rule = DeletedUserRule(part[part.index(after: equals)...]),
                    types.updateValue(rule, forKey: type) == nil
                else { return nil }
            } else {
                guard !hasOthers, let rule = DeletedUserRule(part) else { return nil }
                others = rule
                hasOthers = true
            }
        }
    }

    package subscript(type: RecordTypeName) -> DeletedUserRule {
        // The profiles of others are never deleted with an account, nor given away.
        type == .user ? .anonymise : types[type] ?? others
    }
}

/// What the deletion of an account has done so far.
package struct DeletionReport: Hashable, Sendable {
    /// Whether the account is gone; otherwise it is disabled, and the service goes on with it.
    package var isFinished = false
    /// How many records were deleted, private ones among them.
    package var deleted = 0
    /// How many stay that name no user any more.
    package var anonymised = 0
    /// How many have another owner now.
    package var transferred = 0
    /// How many were to be deleted and are anonymised in place of that, since records of others refer to them.
    package var kept = 0

    package init() {}

    /// How many records were worked on.
    package var count: Int { deleted + anonymised + transferred + kept }

    package static func += (a: inout DeletionReport, b: DeletionReport) {
        a.isFinished = a.isFinished || b.isFinished
        a.deleted += b.deleted
        a.anonymised += b.anonymised
        a.transferred += b.transferred
        a.kept += b.kept
    }
}

/// `user:delete`, decoded.
package struct DeleteUserRequest: Hashable, Sendable {
    package var userID: UserID
    /// Whether references of other records to the profile become NULL whose rule is `restrict`.
    package var releases: Bool

    package init(userID: UserID, releases: Bool = false) {
        self.userID = userID
        self.releases = releases
    }
}

/// `auth:register`, decoded: what makes an anonymous account one that its user can log in to.
package struct RegisterRequest: Sendable {
    /// Login keys and their values, `["username": "ann"]`.
    package var authData: [String: String]
    package var password: String
    /// Further fields of the `user` record.
    package var profile: [(name: FieldName, value: RecordValue)]

    package init(
        authData: [String: String],
        password: String,
        profile: [(name: FieldName, value: RecordValue)] = []
    ) {
        self.authData = authData
        self.password = password
        self.profile = profile
    }
}
