package import SkyrowJSON
package import SkyrowModel

extension Codec<AuthResult> {
    /// An account with its access token, as logins return it.
    package static let authResult = object(authResultForm, named: .authResult)

    static let authResultForm = Form(
        [
            MemberDescription("user_id", "", .string(), isRequired: true),
            MemberDescription("profile", "The `user` record of the account.", .named(.record), isRequired: true),
            MemberDescription(
                "roles",
                "The roles that were given to the user; absent if there are none.",
                .array(of: .string())
            ),
            MemberDescription("access_token", "", .string(), isRequired: true),
            MemberDescription("level", "2 for a session with a second factor.", .integer(minimum: 2, maximum: 2)),
            MemberDescription("is_anonymous", "`true` for an anonymous account, which has only its token.", .boolean),
            MemberDescription("last_login_at", "The last log-in before this call.", .dateTime),
            MemberDescription("last_seen_at", "The last request before this call.", .dateTime),
            MemberDescription(
                "is_new",
                "Whether a log-in with a provider or a custom token created the account.",
                .boolean
            ),
        ]
    ) { json throws(SkyrowError) in
        guard let user = json["user_id"]?.string, let token = json["access_token"]?.string,
            let profile = json["profile"]
        else {
            throw .invalidArgument("An account must have user_id, access_token and profile.")
        }
        func names(_ list: JSONView?) -> [String] { list.map { $0.elements.compactMap(\.string) } ?? [] }
        func instant(_ name: StaticString) throws(SkyrowError) -> Timestamp? {
            try json[name].map { json throws(SkyrowError) in try Codec<Timestamp>.instant.read(json, "\(name)") }
        }
        var result = AuthResult(
            userID: UserID(user),
            profile: OwnProfile(
                try Record(profile),
                verified: profile["_verified"]?.boolean,
                groups: names(profile["_groups"]).map { GroupName($0) },
                roles: names(profile["_roles"]).map { RoleName($0) }
            ),
            roles: names(json["roles"]).map { RoleName($0) },
            accessToken: token,
            lastLoginAt: try instant("last_login_at"),
            lastSeenAt: try instant("last_seen_at"),
            isNew: json["is_new"]?.boolean
        )
        result.level = json["level"]?.wholeNumber.flatMap { Int(exactly: $0) } ?? 1
        result.isAnonymous = json["is_anonymous"]?.boolean ?? false
        return result
    } write: { result, writer in
        writer.beginObject()
        writer.member("user_id", result.userID.rawValue)
        writer.key("profile")
        writer.record(result.profile)
        if !result.roles.isEmpty { writer.member("roles", result.roles.map(\.rawValue)) }
        writer.member("access_token", result.accessToken)
        if result.level > 1 { writer.member("level", result.level) }
        if let lastLoginAt = result.lastLoginAt { writer.member("last_login_at", lastLoginAt) }
        if let lastSeenAt = result.lastSeenAt { writer.member("last_seen_at", lastSeenAt) }
        if let isNew = result.isNew { writer.member("is_new", isNew) }
        if result.isAnonymous { writer.member("is_anonymous", true) }
        writer.endObject()
    }
}

extension Codec<[String: String]> {
    /// Login keys and their values: `{"username": "ann"}`. A key that is `null` counts as absent.
    static let loginKeys = Codec(.object([], others: .string())) { json, name throws(SkyrowError) in
        guard json.isObject else { throw .wrongType(name, "an object") }
        guard json.count <= maximumLoginKeys else { throw .tooMany(name, maximumLoginKeys) }
        var values: [String: String] = [:]
        for (key, value) in json.uniqueMembers where !value.isNull {
            guard let text = value.string else {
                throw .invalidArgument("The values of \"\(name)\" must be strings.", name)
            }
            guard text.isName else {
                throw .invalidArgument("The values of \"\(name)\" must be 1 to 255 bytes without NUL.", name)
            }
            values[key] = text
        }
        return values
    } write: { values, writer in
        writer.beginObject()
        for (key, value) in values.sorted(by: { $0.key < $1.key }) {
            writer.key(key)
            writer.string(value)
        }
        writer.endObject()
    }

    private static let maximumLoginKeys = 16
}

extension Codec<[(name: FieldName, value: RecordValue)]> {
    /// The fields of a profile.
    static func profile(_ rules: ReadingRules) -> Codec {
        Codec(.object([], others: .named(.value))) { json, name throws(SkyrowError) in
            guard json.isObject else { throw .wrongType(name, "an object") }
            return try ProfileFields.read(json, rules: rules)
        } write: { fields, writer in
            writer.beginObject()
            for (name, value) in fields {
                writer.key(name.rawValue)
                writer.value(value)
            }
            writer.endObject()
        }
    }
}

/// The fields of profiles as they come with sign-ups and in tokens.
package enum ProfileFields {
    /// Reads an object; members that are empty or begin with `_` are dropped.
    ///
    /// Throws `132 PayloadTooLarge` and `108 InvalidArgument`.
    package static func read(
        _ json: JSONView,
        rules: ReadingRules
    ) throws(SkyrowError) -> [(name: FieldName, value: RecordValue)] {
        guard json.source.count <= WireLimits.recordBytes else {
            throw SkyrowError(.payloadTooLarge, "A record can have at most \(WireLimits.recordBytes) bytes of JSON.")
        }
        var fields = DraftFields()
        for (key, value) in json.members where key.firstByte != UInt8(ascii: "_") {
            if let name = key.string, !name.isEmpty { try fields.append(name, value, rules: rules) }
        }
        return fields.list
    }
}
