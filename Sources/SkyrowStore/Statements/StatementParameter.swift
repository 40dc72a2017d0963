internal import SkyrowModel
internal import SkyrowPostgres

/// What the value of a placeholder is, in a text that is kept and bound anew for every request (``StatementTemplate``).
enum StatementParameter: Hashable, Sendable {
    /// A value of the condition of an access scope. Clauses are given by their place in ``AccessScope/clauses``.
    enum Access: Hashable, Sendable {
        /// The user whose private database it is.
        case database
        /// The user of an `owner` clause.
        case owner(clause: Int)
        /// The keys of the audience of a `listed` clause.
        case audience(clause: Int)
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
    /// Of the scope of reading, of the public records that may be referred to, and of the scopes of updating and deleting.
    case read(Access)
    case shared(Access)
    case update(Access)
    case delete(Access)
}

extension RecordAccess {
    /// Appends the value of a parameter that the access of a request settles; nothing for any other.
    func append(_ parameter: StatementParameter, to values: inout PostgresBindings) {
        switch parameter {
        case .newOwner: values.append(newOwner)
        case .actor: values.append(actor)
        case .database: if case .user(let user) = database { values.append(user) }
        case .prefix: values.append(StoredID.prefix(of: database))
        case .read(let part): read.append(part, to: &values)
        case .shared(let part): shared.append(part, to: &values)
        case .update(let part): update.append(part, to: &values)
        case .delete(let part): delete.append(part, to: &values)
        case .ids, .wireIDs, .instant, .accessLists, .revisions, .column, .operand, .elementValue, .condition: break
        }
    }
}

extension AccessScope {
    /// Appends a value of the condition; nothing where the scope is of another shape than the condition.
    func append(_ parameter: StatementParameter.Access, to values: inout PostgresBindings) {
        switch parameter {
        case .database:
            if case .user(let user) = database { values.append(user) }
        case .owner(let place):
            if case .owner(let user) = clauses[place] { values.append(user) }
        case .audience(let place):
            if case .listed(let audience, _) = clauses[place] { values.append(audience.text) }
        }
    }
}
