package import SkyrowModel

/// A call of a function server, in values of neither dialect.
package struct FunctionCall: Sendable {
    package enum Content: Sendable {
        /// The arguments are an object or an array; nil for none.
        case function(FunctionName, arguments: JSONText?)
        case hook(HookDescription, HookInput)
        /// The parameter is an object; nil for none.
        case event(String, JSONText?)
        case handler(HandlerRequest)
        /// Asks a provider who a user is, by what the user's client sent.
        case provider(String, authData: JSONText)
    }

    /// The name of the server in the settings.
    package var server: String
    package var content: Content
    package var context: FunctionContext
    /// Upper bound on its time besides those of its server and kind.
    package var timeout: Duration?

    package init(_ content: Content, of server: String, context: FunctionContext, timeout: Duration? = nil) {
        self.server = server
        self.content = content
        self.context = context
        self.timeout = timeout
    }
}

/// For whom a function server is called.
package struct FunctionContext: Sendable {
    package enum KeyKind: String, Hashable, Sendable {
        case client
        case master
    }

    /// nil for an anonymous caller.
    package var userID: UserID?
    /// nil if the request had no key.
    package var keyKind: KeyKind?
    package var requestID: String?
    package var roles: [RoleName]
    /// How many functions have called each other up to this call; 1 for a call by a client.
    package var depth: Int
    /// An access token of the caller for the time of the call; nil for an anonymous caller.
    package var token: String?
    package var clientAddress: String?

    package init(
        userID: UserID? = nil,
        keyKind: KeyKind? = nil,
        requestID: String? = nil,
        roles: [RoleName] = [],
        depth: Int = 1,
        token: String? = nil,
        clientAddress: String? = nil
    ) {
        self.userID = userID
        self.keyKind = keyKind
        self.requestID = requestID
        self.roles = roles
        self.depth = depth
        self.token = token
        self.clientAddress = clientAddress
    }
}

/// What a hook gets.
package enum HookInput: Sendable {
    /// Of `beforeSave`, `afterSave`, `beforeDelete`, `afterDelete` and `afterFetch`.
    case records([HookedRecord])
    /// Of `beforeLogin`, `afterLogin` and `afterLogout`: the profile.
    case account(Record)
    /// Of `beforeQuery`: the query as `record:query` takes it.
    case query(JSONText)
}

/// A record that a hook gets.
package struct HookedRecord: Hashable, Sendable {
    /// The record as the request leaves it, or as it is about to be deleted or sent.
    package var record: Record
    /// The stored record before; nil for a new one.
    package var original: Record?
    /// The fields whose values differ, sorted.
    package var changed: [FieldName]

    package init(_ record: Record, original: Record? = nil, changed: [FieldName] = []) {
        self.record = record
        self.original = original
        self.changed = changed
    }
}

/// What a function server answered, apart from errors, which are thrown.
package enum FunctionAnswer: Sendable {
    /// The result of a function.
    case value(JSONText)
    /// One for each record of the call, in order.
    case records([HookVerdict])
    case query(QueryVerdict)
    case handler(HandlerResponse)
    /// The principal by which the provider knows the user, and the data that is kept of it.
    case principal(String, authData: JSONText)
    /// Of events and hooks about accounts.
    case nothing
}

/// What a hook says about a record.
package enum HookVerdict: Hashable, Sendable {
    /// The fields that it sets, nil to clear one, and the access list if it replaces that.
    case accepted(set: [FieldName: RecordValue?], access: AccessList?)
    case refused(SkyrowError)
    /// Of `afterFetch`: the record is not sent.
    case dropped

    /// Accepts the record as it is.
    package static let unchanged = HookVerdict.accepted(set: [:], access: nil)
}

/// What `beforeQuery` says about a query.
package struct QueryVerdict: Hashable, Sendable {
    /// A predicate in the form of `record:query` that records must match as well.
    package var predicate: JSONText?
    package var limit: Int?

    package init(predicate: JSONText? = nil, limit: Int? = nil) {
        self.predicate = predicate
        self.limit = limit
    }
}

/// An HTTP request for a handler of a function server.
package struct HandlerRequest: Sendable {
    /// The name of the handler.
    package var name: String
    package var method: String
    package var path: String
    /// Without the question mark.
    package var query: String
    /// Without hop-by-hop fields; a name may stand several times.
    package var fields: [(name: String, value: String)]
    package var body: [UInt8]

    package init(
        name: String,
        method: String,
        path: String,
        query: String,
        fields: [(name: String, value: String)],
        body: [UInt8]
    ) {
        self.name = name
        self.method = method
        self.path = path
        self.query = query
        self.fields = fields
        self.body = body
    }
}

/// The HTTP response of a handler.
package struct HandlerResponse: Sendable {
    /// 100 to 599.
    package var status: Int
    package var fields: [(name: String, value: String)]
    package var body: [UInt8]

    package init(status: Int, fields: [(name: String, value: String)], body: [UInt8]) {
        self.status = status
        self.fields = fields
        self.body = body
    }
}
