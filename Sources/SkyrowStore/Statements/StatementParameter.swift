internal import SkyrowModel
internal import SkyrowPostgres

/// The source of a placeholder's value, in a text that is cached and bound for every request (``StatementTemplate``).
enum StatementParameter: Hashable, Sendable {
    /// A value in the condition of an access scope; the same in every scope of one access.
    enum Access: Hashable, Sendable {
        /// The user whose private database is accessed.
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
    /// The owner of new records.
    case newOwner
    /// The user who is recorded as the author of the write.
    case actor
    /// The user whose private database the records are in.
    case database
    /// The prefix of stored ids in that database.
    case prefix
    /// The time of the request.
    case instant
    case accessLists
    /// The revisions that records must have.
    case revisions
    /// Values of the column at this position among the written ones.
    case column(Int)
    /// A value of the operator on the column at this position among the written ones.
    case operand(column: Int, number: Int)
    /// A value of the condition on the stored record.
    case condition(Int)
    /// A value of the predicate on elements, in the operator on the column at this position or in one of its steps.
    case elementValue(column: Int, step: Int, number: Int)
    /// The default access list of the type.
    case defaultAccess
    case access(Access)
}

extension RecordAccess {
    /// Appends the value of a parameter that the access of a request determines; nothing for any other parameter.
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
    /// Appends a value of the condition; nothing if the scope has no value of the kind.
    func append(_ parameter: StatementParameter.Access, to values: inout PostgresBindings) {
        switch parameter {
        case .database: if case .user(let user) = database { values.append(user) }
        case .user: if let user = audience.user { values.append(user) }
        case .audience: values.append(audience.text)
        }
    }
}
