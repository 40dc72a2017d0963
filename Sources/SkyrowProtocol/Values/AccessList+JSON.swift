package import SkyrowJSON
package import SkyrowModel

extension AccessList {
    /// Reads `_access` (skygear.md 9.1); nil for `null`.
    ///
    /// An entry names one subject, and the level `read`, `update`, `delete` or `write`; the decoration
    /// `"relation": "$direct"` that old SDKs put beside a user is dropped, and so is an entry for the owner, who is admitted
    /// anyway: the v1 SDKs do not read a list that has one. Throws `108 InvalidArgument` for anything else, with its
    /// place in `info.path`: an entry that would be read as less than it says must not be stored.
    package init?(_ json: JSONView) throws(SkyrowError) {
        if json.isNull { return nil }
        guard json.isArray else { throw malformed("_access must be null or a list of entries.").at("_access") }
        var entries: [AccessEntry] = []
        entries.reserveCapacity(json.count)
        for (index, element) in json.elements.enumerated() {
            do throws(SkyrowError) {
                let entry = try AccessEntry(element)
                if entry.subject != .owner { entries.append(entry) }
            } catch {
                throw error.at(index).at("_access")
            }
        }
        self.init(entries)
    }
}

extension AccessEntry {
    fileprivate init(_ json: JSONView) throws(SkyrowError) {
        guard json.isObject else { throw malformed("An entry of _access must be an object.") }
        var subjects: [Subject] = []
        var level: AccessLevel?
        var relation: (name: String, isUsers: Bool)?
        for (key, value) in json.members {
            if key.equals("level") {
                level = value.string.flatMap(AccessLevel.init(rawValue:))
                guard level != nil else { throw malformed(levelSentence).at(".level") }
            } else if key.equals("relation") {
                guard let name = try text(value, "relation") else { continue }
                relation = (name, name == "$direct")
            } else if let subject = try Subject(key, value) {
                subjects.append(subject)
            }
        }
        if let relation, !relation.isUsers {
            guard let known = Subject.Relation(rawValue: relation.name) else {
                throw malformed("A relation in _access must be friend, follower or followed.").at(".relation")
            }
            subjects.append(.relation(known))
        }
        guard let level else { throw malformed(levelSentence) }
        guard subjects.count == 1 else { throw malformed("An entry of _access must name exactly one subject.") }
        self.init(subjects[0], level)
    }
}

extension Subject {
    /// The subject of a member other than a relation; nil for one that is null or false.
    fileprivate init?(_ key: JSONView, _ value: JSONView) throws(SkyrowError) {
        guard let kind = Kind.all.first(where: { key.equals($0.member) }), kind != .relation, kind != .field else {
            throw malformed("An entry of _access has no member \"\(excerpt(of: key.string ?? ""))\".")
        }
        if kind.hasName {
            guard let name = try text(value, kind.member) else { return nil }
            self.init(kind, name: name)
        } else {
            guard try flag(value, kind.member) else { return nil }
            self.init(kind)
        }
    }
}

private let levelSentence = "The level of an entry of _access must be \"read\", \"update\", \"delete\" or \"write\"."

private func malformed(_ message: String) -> SkyrowError {
    .invalidArgument(message, "_access")
}

private func flag(_ json: JSONView, _ name: StaticString) throws(SkyrowError) -> Bool {
    if json.isNull { return false }
    guard let flag = json.boolean else {
        throw malformed("\"\(name)\" in _access must be true or false.").at(".\(name)")
    }
    return flag
}

private func text(_ json: JSONView, _ name: StaticString) throws(SkyrowError) -> String? {
    if json.isNull { return nil }
    guard let text = json.string, text.isName else {
        throw malformed("\"\(name)\" in _access must be a string of 1 to 255 bytes without NUL.").at(".\(name)")
    }
    return text
}
