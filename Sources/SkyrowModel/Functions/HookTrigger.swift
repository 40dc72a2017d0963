/// When a hook of a function server runs.
package enum HookTrigger: String, Hashable, Sendable, CaseIterable {
    /// Before the write; may change fields and the access list, and refuse the record.
    case beforeSave
    /// After the commit.
    case afterSave
    /// Before the delete; may refuse it.
    case beforeDelete
    /// After the commit.
    case afterDelete
    /// Before the statement; may add a condition, lower the limit, and refuse the query.
    case beforeQuery
    /// On records that are about to be sent; may set and drop fields, and drop records.
    case afterFetch
    /// After the password was right and before the session exists; may refuse it.
    case beforeLogin
    case afterLogin
    case afterLogout
}

extension HookTrigger {
    /// Whether it is about an account and so about the type `user` only.
    package var isOfAccounts: Bool {
        switch self {
        case .beforeLogin, .afterLogin, .afterLogout: true
        case .beforeSave, .afterSave, .beforeDelete, .afterDelete, .beforeQuery, .afterFetch: false
        }
    }

    /// Whether only servers of the dialect `skyrow/1` may register it.
    package var needsSkyrowDialect: Bool {
        switch self {
        case .beforeSave, .afterSave, .beforeDelete, .afterDelete: false
        case .beforeQuery, .afterFetch, .beforeLogin, .afterLogin, .afterLogout: true
        }
    }
}
