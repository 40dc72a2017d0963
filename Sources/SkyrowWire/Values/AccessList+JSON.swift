package import SkyrowJSON
package import SkyrowModel

extension AccessList {
    /// Reads `_access` (skygear.md 9.1); nil for `null`.
    ///
    /// An entry names one of `public`, `owner`, `user_id` and `role`, and the level `read` or `write`; the decoration
    /// `"relation": "$direct"` that old SDKs put beside a user is dropped, and so is an entry for the owner, who is admitted
    /// anyway: the v1 SDKs do not read a list that has one. Throws `108 InvalidArgument` for anything else:
    /// an entry that would be read as less than it says must not be stored.
    package init?(_ json: JSONView) throws(SkyrowError) {
        if json.isNull { return nil }
        guard json.isArray else { throw .invalidArgument("_access is null or a list of entries.", "_access") }
        var entries: [AccessEntry] = []
        entries.reserveCapacity(json.count)
        for element in json.elements {
            let entry = try AccessEntry(element)
            if entry.subject != .owner { entries.append(entry) }
        }
        self.init(entries)
    }
}

extension AccessEntry {
    fileprivate init(_ json: JSONView) throws(SkyrowError) {
        guard json.isObject else { throw malformed("An entry of _access is an object.") }
        var members = AccessMembers()
        for (key, value) in json.members {
            if key.equals("public") {
                members.isPublic = try flag(value, "public")
            } else if key.equals("owner") {
                members.isOwner = try flag(value, "owner")
            } else if key.equals("user_id") {
                members.user = try text(value, "user_id").map { UserID($0) }
            } else if key.equals("role") {
                members.role = try text(value, "role").map { RoleName($0) }
            } else if key.equals("level") {
                members.level = value.equals("read") ? .read : value.equals("write") ? .write : nil
            } else if key.equals("relation") {
                guard value.isNull || value.isString else { throw malformed("\"relation\" is a string.") }
            } else {
                throw malformed("An entry of _access has no member \"\(excerpt(of: key.string ?? ""))\".")
            }
        }
        guard let level = members.level else {
            throw malformed("The level of an entry of _access is \"read\" or \"write\".")
        }
        guard let subject = members.subject else {
            throw malformed("An entry of _access names exactly one of public, owner, user_id and role.")
        }
        self.init(subject, level)
    }
}

/// What an entry names, as its members come.
private struct AccessMembers {
    var isPublic = false
    var isOwner = false
    var user: UserID?
    var role: RoleName?
    var level: AccessLevel?

    /// nil unless there is exactly one.
    var subject: AccessSubject? {
        switch (isPublic, isOwner, user, role) {
        case (true, false, nil, nil): .everyone
        case (false, true, nil, nil): .owner
        case (false, false, let user?, nil): .user(user)
        case (false, false, nil, let role?): .role(role)
        default: nil
        }
    }
}

private func malformed(_ message: String) -> SkyrowError {
    .invalidArgument(message, "_access")
}

private func flag(_ json: JSONView, _ name: String) throws(SkyrowError) -> Bool {
    if json.isNull { return false }
    guard let flag = json.boolean else { throw malformed("\"\(name)\" in _access is true or false.") }
    return flag
}

private func text(_ json: JSONView, _ name: String) throws(SkyrowError) -> String? {
    if json.isNull { return nil }
    guard let text = json.string, text.isName else {
        throw malformed("\"\(name)\" in _access is a text of 1 to 255 bytes without NUL.")
    }
    return text
}
