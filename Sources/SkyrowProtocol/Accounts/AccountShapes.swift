import SkyrowJSON
package import SkyrowModel

extension Codec<AuthResult> {
    /// An account with its access token, as logins return it.
    package static let authResult = Codec(.named(.authResult)) { json, name throws(SkyrowError) in
        guard let user = json["user_id"]?.string, let token = json["access_token"]?.string,
            let profile = json["profile"]
        else {
            throw .invalidArgument("\"\(name)\" lacks user_id, access_token or profile.", name)
        }
        var result = AuthResult(
            userID: UserID(user),
            profile: try Record(profile),
            roles: json["roles"].map { $0.elements.compactMap { $0.string.map { RoleName($0) } } } ?? [],
            accessToken: token,
            lastLoginAt: try json["last_login_at"].map { json throws(SkyrowError) in
                try Codec<Timestamp>.instant.read(json, "last_login_at")
            },
            lastSeenAt: try json["last_seen_at"].map { json throws(SkyrowError) in
                try Codec<Timestamp>.instant.read(json, "last_seen_at")
            },
            isNew: json["is_new"]?.boolean
        )
        result.level = json["level"]?.wholeNumber.flatMap { Int(exactly: $0) } ?? 1
        result.isAnonymous = json["is_anonymous"]?.boolean ?? false
        return result
    } write: { result, writer in
        writer.authResult(result)
    }
}
