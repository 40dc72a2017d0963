import SkyrowJSON
package import SkyrowModel

// The rules of names and ids, which the database has too.

extension Codec<RoleName> {
    /// 1 to 64 bytes. Which characters a new name may have is judged where the role is made.
    package static let roleName = Codec<String>.string(1...64).map {
        RoleName($0)
    } writing: {
        $0.rawValue
    }
}

extension Codec<GroupName> {
    /// 1 to 64 bytes. Which characters a new name may have is judged where the group is given.
    package static let groupName = Codec<String>.string(1...64).map {
        GroupName($0)
    } writing: {
        $0.rawValue
    }
}

extension Codec<UserID> {
    /// 1 to 255 bytes.
    package static let userID = Codec<String>.string(1...AccessList.maximumNameLength).map {
        UserID($0)
    } writing: {
        $0.rawValue
    }
}

extension Codec<String> {
    /// A password, or another text that is hashed and not stored, and so may have NUL.
    package static let secret = Codec(.string()) { json, name throws(SkyrowError) in
        guard let text = json.string else { throw .wrongType(name, "a string") }
        return text
    } write: { text, writer in
        writer.string(text)
    }
}

extension Codec<AccessList?> {
    /// A list of access, or `null` for none.
    package static let accessList = Codec(JSONShape.accessList) { json, name throws(SkyrowError) in
        do throws(SkyrowError) {
            return try AccessList(json)
        } catch {
            var error = error
            // The list of a record has another name.
            error.info["arguments"] = .list([.string(name)])
            if let path = error.path { error = error.replacingPath(with: name + path.dropFirst("_access".count)) }
            throw error
        }
    } write: { list, writer in
        writer.accessList(list)
    }
}
