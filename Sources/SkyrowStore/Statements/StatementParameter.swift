internal import SkyrowModel
internal import SkyrowPostgres

/// What the value of a placeholder is, in a text that is kept and bound anew for every request (``StatementTemplate``).
enum StatementParameter: Hashable, Sendable {
    /// A value of the condition of an access scope: of every scope of one access the same.
    enum Access: Hashable, Sendable {
        /// The user whose private database it is.
        case database
        /// The user of a clause about owners and members.
        case user
        /// The keys of the audience of a `listed` clause.
        case audience
    }

    /// The stored id of the record, or the ids of several.
    case ids
    /// The ids of the records as clients see them.
    case wireIDs
    /// Whose new records are.
    case newOwner
    /// Who signs what is written.
    case actor
    /// The user whose private database the records are in.
    case database
    /// What stands before the ids of that database.
    case prefix
    /// The time of the request.
    case instant
    case accessLists
    /// The revisions that records are to have.
    case revisions
    /// Values of the column at this place among those that are written.
    case column(Int)
    /// A value of the operator on the column at this place among those that are written.
    case operand(column: Int, number: Int)
    /// A value of the condition on the stored record.
    case condition(Int)
    /// A value of the predicate that the operator on the column at this place, or a step of it, asks of elements.
    case elementValue(column: Int, step: Int, number: Int)
    /// What a new record has that brings no list.
    case defaultAccess
    case access(Access)
}

extension RecordAccess {
    /// Appends the value of a parameter that the access of a request settles; nothing for any other.
    func append(_ parameter: StatementParameter, to values: inout PostgresBindings) {
        switch parameter {
        case .newOwner: values.append(newOwner)
        case .actor: values.append(actor)
        case .database: if case .user(let user) = database { values.append(user) }
        case .prefix: values.append(StoredID.prefix(of: database))
        case .access(.database): if case .user(let user) = database { values.append(user) }
        case .access(.user): if let user = conditionUser { values.append(user) }
        case .access(.audience): values.append(audienceText)
        case .ids, .wireIDs, .instant, .accessLists, .defaultAccess, .revisions, .column, .operand, .elementValue,
            .condition:
            break
        }
    }
}

extension AccessScope {
    /// Appends a value of the condition; nothing where the scope has none of the kind.
    func append(_ parameter: StatementParameter.Access, to values: inout PostgresBindings) {
        switch parameter {
        case .database: if case .user(let user) = database { values.append(user) }
        case .user: if let user = first(\.user) { values.append(user) }
        case .audience: if let audience = first(\.audience) { values.append(audience.text) }
        }
    }

    private func first<Value>(_ value: (AccessClause) -> Value?) -> Value? {
        for clause in clauses { if let value = value(clause) { return value } }
        for clause in others.joined() { if let value = value(clause) { return value } }
        return nil
    }
}

extension AccessClause {
    fileprivate var user: UserID? {
        switch self {
        case .owner(let user), .listedOwner(let user), .member(_, let user), .unlistedMember(_, let user),
            .related(let user, _, _):
            user
        case .everything, .unlisted, .listed: nil
        }
    }

    fileprivate var audience: Audience? {
        if case .listed(let audience, _) = self { audience } else { nil }
    }
}
