package import SkyrowJSON
package import SkyrowModel

extension UserRelation {
    /// Reads the name of a relation, with or without the underscore that Skygear puts before it.
    ///
    /// Throws `111 NotSupported` for others. Whom one keeps away is for that user only, so that it is no name here.
    fileprivate init(_ parameters: Parameters) throws(SkyrowError) {
        let name = try parameters.required("name", parameters.string("name"))
        guard let relation = UserRelation(relationName: name) else {
            throw SkyrowError(
                .notSupported,
                "The relation must be friend or follow.",
                info: ["arguments": .list([.string("name")])]
            )
        }
        self = relation
    }

    /// nil for any other name.
    package init?(relationName name: String) {
        switch name {
        case "friend", "_friend": self = .friend
        case "follow", "_follow": self = .follow
        default: return nil
        }
    }
}

extension RelationChangeRequest {
    /// Reads `relation:add` and `relation:remove`.
    package init(parameters json: JSONView) throws(SkyrowError) {
        let parameters = Parameters(json)
        self.init(try UserRelation(parameters), try parameters.targets())
    }
}

extension RelationBlockRequest {
    /// Reads `relation:block`.
    package init(parameters json: JSONView) throws(SkyrowError) {
        let parameters = Parameters(json)
        self.init(try parameters.targets(), isBlocked: try parameters.boolean("blocked") ?? true)
    }
}

extension RelationQuery {
    /// Reads `relation:query`; an empty direction is none, as in Skygear.
    ///
    /// Skygear's action has no `page`, and its JavaScript SDK always sends one.
    package init(queryParameters json: JSONView, rules: ReadingRules) throws(SkyrowError) {
        let parameters = Parameters(json)
        let text = try parameters.string("direction") ?? ""
        guard let direction = text.isEmpty ? .mutual : RelationDirection(rawValue: text) else {
            throw .invalidArgument("The direction must be outward, inward or mutual.", "direction")
        }
        self.init(try UserRelation(parameters), direction)
        try readPart(parameters, hasPages: rules != .v1)
    }

    /// Reads `relation:requests`.
    package init(requestsParameters json: JSONView) throws(SkyrowError) {
        self.init(.friend, .inward, isPending: true)
        try readPart(Parameters(json), hasPages: true)
    }

    private mutating func readPart(_ parameters: Parameters, hasPages: Bool) throws(SkyrowError) {
        limit = try parameters.integer("limit", in: 0...PageRequest.maximumLimit) ?? PageRequest.defaultLimit
        let page = hasPages ? try parameters.integer("page", in: 1...RecordQuery.maximumOffset + 1) ?? 1 : 1
        offset = try parameters.integer("offset", in: 0...RecordQuery.maximumOffset) ?? (page - 1) * limit
        guard offset <= RecordQuery.maximumOffset else {
            throw .invalidArgument("At most \(RecordQuery.maximumOffset) users can be skipped.", "page")
        }
    }
}

extension Parameters {
    fileprivate func targets() throws(SkyrowError) -> [UserID] {
        let targets = try required("targets", names("targets"))
        guard targets.count <= RelationChangeRequest.maximumTargets else {
            throw tooMany("targets", RelationChangeRequest.maximumTargets)
        }
        return targets.map { UserID($0) }
    }
}

extension JSONWriter {
    /// The result of an action on relations.
    package func relationResult(_ result: RelationResult) {
        switch result {
        case .outcomes(let outcomes):
            relationOutcomes(outcomes)
        case .page(let page):
            beginObject()
            key("users")
            relationOutcomes(page.users)
            relationInfo(page)
            endObject()
        }
    }

    /// One entry a user, `{"id": "u2", "type": "user", "data": {…}, "mutual": false}`.
    package func relationOutcomes(_ outcomes: [RelationOutcome]) {
        beginArray()
        for outcome in outcomes where refusal == nil { relationOutcome(outcome) }
        endArray()
    }

    private func relationOutcome(_ outcome: RelationOutcome) {
        beginObject()
        key("id")
        switch outcome {
        case .related(let user, let profile, let isMutual):
            string(user.rawValue)
            key("type")
            string("user")
            if let profile {
                key("data")
                record(profile)
            }
            key("mutual")
            boolean(isMutual)
        case .done(let user):
            string(user.rawValue)
        case .failure(let user, let error):
            string(user.rawValue)
            key("type")
            string("error")
            key("data")
            self.error(error)
        }
        endObject()
    }

    /// How many users of a relation there are, beside a part of them.
    package func relationInfo(_ page: RelationPage) {
        key("info")
        beginObject()
        key("count")
        integer(page.count)
        endObject()
    }
}

// MARK: The client's side

extension JSONWriter {
    /// The parameters of `relation:add` and `relation:remove`.
    package func relationChangeParameters(_ request: RelationChangeRequest) {
        beginObject()
        key("name")
        string(request.relation.rawValue)
        key("targets")
        strings(request.targets.map(\.rawValue))
        endObject()
    }

    /// The parameters of `relation:block`.
    package func relationBlockParameters(_ request: RelationBlockRequest) {
        beginObject()
        key("targets")
        strings(request.targets.map(\.rawValue))
        if !request.isBlocked {
            key("blocked")
            boolean(false)
        }
        endObject()
    }

    /// The parameters of `relation:query`, and of `relation:requests` for a query of those.
    package func relationQueryParameters(_ query: RelationQuery) {
        beginObject()
        if !query.isPending {
            key("name")
            string(query.relation.rawValue)
            key("direction")
            string(query.direction.rawValue)
        }
        key("limit")
        integer(query.limit)
        if query.offset > 0 {
            key("offset")
            integer(query.offset)
        }
        endObject()
    }
}
