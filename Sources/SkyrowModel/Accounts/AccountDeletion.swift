/// What happens to the public records of a deleted account.
package enum DeletedUserRule: Hashable, Sendable {
    /// They are deleted with the account.
    case delete
    /// They remain, and no longer name a user.
    case anonymise
    /// They are transferred to another user.
    case transfer(to: UserID)

    /// Parses `delete`, `anonymise` or `transfer:<user id>`; nil for any other text.
    init?(_ text: Substring) {
        switch text {
        case "delete": self = .delete
        case "anonymise": self = .anonymise
        default:
            let prefix = "transfer:"
            guard text.hasPrefix(prefix) else { return nil }
            let id = UserID(String(text.dropFirst(prefix.count)))
            guard id.fitsAccount else { return nil }
            self = .transfer(to: id)
        }
    }
}

/// What happens to public records when the account of their owner is deleted, by type.
///
/// ```swift
/// let rules = DeletedUserRules("note=delete,order=transfer:u1")
/// rules?[type]  // .anonymise for a type that is not named
/// ```
package struct DeletedUserRules: Hashable, Sendable {
    /// The rule of the types that are not named.
    package var others: DeletedUserRule
    package var types: [RecordTypeName: DeletedUserRule]

    package init(others: DeletedUserRule = .anonymise, types: [RecordTypeName: DeletedUserRule] = [:]) {
        self.others = others
        self.types = types
    }

    /// Parses a rule for all types, and types with `=` and a rule; nil for an invalid text, and for two rules of a type.
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
        // The profiles of others are never deleted with an account, nor transferred.
        type == .user ? .anonymise : types[type] ?? others
    }
}

/// The result of an account deletion so far.
public struct DeletionReport: Hashable, Sendable {
    /// Whether the account is deleted; otherwise it is disabled, and the service completes the deletion by itself.
    public var isFinished: Bool
    /// The number of deleted records, including private ones.
    public var deleted: Int
    /// The number of remaining records that no longer name a user.
    public var anonymised: Int
    /// The number of records with a new owner.
    public var transferred: Int
    /// The number of records that are anonymised instead of deleted, since records of others refer to them.
    public var kept: Int

    package init(isFinished: Bool = false, deleted: Int = 0, anonymised: Int = 0, transferred: Int = 0, kept: Int = 0) {
        self.isFinished = isFinished
        self.deleted = deleted
        self.anonymised = anonymised
        self.transferred = transferred
        self.kept = kept
    }

    /// The number of processed records.
    package var count: Int { deleted + anonymised + transferred + kept }
}
