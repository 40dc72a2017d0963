import SkyrowJSON
package import SkyrowModel

extension UserRelation {
    /// Reads the name of a relation, with or without the underscore that Skygear puts before it; nil for any other name.
    ///
    /// Whom one keeps away is for that user only, so that it is no name here.
    package init?(relationName name: String) {
        switch name {
        case "friend", "_friend": self = .friend
        case "follow", "_follow": self = .follow
        default: return nil
        }
    }
}

extension Codec<UserRelation> {
    /// Throws `111 NotSupported` for other relations.
    package static let userRelation = Codec(
        .oneOfStrings(["friend", "follow", "_friend", "_follow"])
    ) { json, name throws(SkyrowError) in
        guard let text = json.string else { throw .wrongType(name, "a string") }
        guard let relation = UserRelation(relationName: text) else {
            throw SkyrowError(
                .notSupported,
                "The relation must be friend or follow.",
                info: ["arguments": .list([.string(name)])]
            )
        }
        return relation
    } write: { relation, writer in
        writer.string(relation.rawValue)
    }
}

extension Codec<RelationDirection> {
    /// An empty direction means the default, as in Skygear.
    package static let relationDirection = Codec(oneOf.shape) { [read = oneOf.read] json, name throws(SkyrowError) in
        json.string?.isEmpty == true ? .mutual : try read(json, name)
    } write: { direction, writer in
        writer.string(direction.rawValue)
    }
}

extension Codec<RelationOutcome> {
    /// `{"id": "u2", "type": "user", "data": {…}, "mutual": false}`
    package static let relatedUser = Codec(.named(.relatedUser)) { json, name throws(SkyrowError) in
        guard let id = json["id"]?.string else { throw .invalidArgument("\"\(name)\" lacks id.", name) }
        let data = json["data"].flatMap { $0.isNull ? nil : $0 }
        switch json["type"]?.string {
        case "error":
            let code = ErrorCode(rawValue: data?["code"]?.wholeNumber.flatMap { Int(exactly: $0) } ?? 0)
            return .failure(UserID(id), SkyrowError(code, data?["message"]?.string ?? ""))
        case "user":
            let profile = try data.map { json throws(SkyrowError) in try Record(json) }
            return .related(UserID(id), profile: profile, isMutual: json["mutual"]?.boolean ?? false)
        default:
            return .done(UserID(id))
        }
    } write: { outcome, writer in
        writer.beginObject()
        writer.key("id")
        switch outcome {
        case .related(let user, let profile, let isMutual):
            writer.string(user.rawValue)
            writer.member("type", "user")
            if let profile {
                writer.key("data")
                writer.record(profile)
            }
            writer.member("mutual", isMutual)
        case .done(let user):
            writer.string(user.rawValue)
        case .failure(let user, let error):
            writer.string(user.rawValue)
            writer.member("type", "error")
            writer.key("data")
            writer.error(error)
        }
        writer.endObject()
    }

    static let relatedUserShape = JSONShape.object([
        JSONMember("id", .string(), isRequired: true, "The id of the user."),
        JSONMember("type", .oneOfStrings(["user", "error"]), "What `data` is; absent without `data`."),
        JSONMember("data", .any, "The profile, as far as the caller may read it, or the error."),
        JSONMember("mutual", .boolean, "Whether both have added each other."),
    ])
}

extension Codec<[RelationOutcome]> {
    /// One entry a user.
    package static let relatedUsers = list(of: .relatedUser)
}

extension Codec<RelationPage> {
    /// `{"users": […], "info": {"count": 7}}`
    package static let relationPage = object(
        Form(
            RelationPage.init(users:count:),
            Member("users", \.users, .relatedUsers),
            Member("info", \.count, .count("count", "The number of users on all pages, up to 101,000."))
        )
    )
}

extension JSONWriter {
    /// In the envelope of v1 the users are the result, and `info` is beside it.
    func v1RelationPage(_ page: RelationPage) {
        Codec.relatedUsers.write(page.users, self)
        key("info")
        Codec.count("count").write(page.count, self)
    }
}
