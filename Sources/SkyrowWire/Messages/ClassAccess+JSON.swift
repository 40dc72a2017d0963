package import SkyrowJSON
package import SkyrowModel

extension RecordTypeName {
    /// Reads `schema:access:get`, `{"record_type": "note"}`.
    package init(accessParameters json: JSONView) throws(SkyrowError) {
        self = try Parameters(json).recordType()
    }
}

extension CreateRolesRequest {
    /// Reads `schema:access`, `{"type": "note", "create_roles": ["writer"]}`.
    package init(parameters json: JSONView) throws(SkyrowError) {
        let parameters = Parameters(json)
        let type = try RecordTypeName(parameters.required("type", parameters.string("type")))
        let roles = try parameters.required("create_roles", parameters.names("create_roles"))
        guard roles.count <= ClassRule.maximumSubjects else {
            throw .invalidArgument("A rule names at most \(ClassRule.maximumSubjects) subjects.", "create_roles")
        }
        self.init(type: type, roles: roles.map { RoleName($0) })
    }
}

extension ClassAccessChange {
    /// Reads `schema:access:set`.
    ///
    /// Throws `108 InvalidArgument` for whatever is not understood, with its place in `info.path`: a rule that is read as less
    /// than it says would open records.
    package init(parameters json: JSONView) throws(SkyrowError) {
        let parameters = Parameters(json)
        self.init(type: try parameters.recordType())
        if let rules = try parameters.object("rules") {
            for (key, value) in rules.uniqueMembers {
                guard let action = ClassAction(rawValue: key) else {
                    throw SkyrowError.invalidArgument("A rule is about create, read, update or delete.", "rules")
                        .at("rules.\(String(key.prefix(64)))")
                }
                do throws(SkyrowError) {
                    let rule = try value.isNull ? nil : ClassRule(value, of: action)
                    self.rules.updateValue(rule, forKey: action)
                } catch {
                    throw error.at("rules.\(key)")
                }
            }
        }
        if let list = json["default_access"] {
            do throws(SkyrowError) {
                let known = try AccessList(list)
                defaultAccess = .some(known)
            } catch {
                throw error.aboutDefaultAccess
            }
        }
        if let writers = json["list_by"] {
            let known = writers.string.flatMap(ClassAccess.ListWriters.init(rawValue:))
            guard writers.isNull || known != nil else {
                throw .invalidArgument("\"list_by\" is owner, update or null.", "list_by")
            }
            listWriters = .some(known)
        }
        allowsPrivate = try parameters.boolean("private")
    }
}

extension ClassRule {
    fileprivate init(_ json: JSONView, of action: ClassAction) throws(SkyrowError) {
        guard json.isObject else { throw malformed("A rule is an object.") }
        var allow: [Subject]?
        var mode = Mode.default
        for (key, value) in json.uniqueMembers {
            switch key {
            case "allow":
                guard value.isArray, value.count <= Self.maximumSubjects else {
                    throw malformed("\"allow\" is an array of at most \(Self.maximumSubjects) subjects.").at(".allow")
                }
                var subjects: [Subject] = []
                for (place, element) in value.elements.enumerated() {
                    do throws(SkyrowError) { subjects.append(try Subject(ofRule: element, for: action)) } catch {
                        throw error.at(".allow[\(place)]")
                    }
                }
                allow = subjects
            case "mode" where action != .create:
                guard let known = value.string.flatMap(Mode.init(rawValue:)) else {
                    throw malformed("The mode of a rule is default, require or override.").at(".mode")
                }
                mode = known
            default:
                throw malformed("A rule about \(action.rawValue) has no such member.").at(".\(String(key.prefix(64)))")
            }
        }
        guard let allow else { throw malformed("A rule has \"allow\", the subjects that it allows.") }
        self.init(allow, mode)
    }
}

extension Subject {
    /// Reads `{"role": "editor"}`, `{"owner": true}`, `{"field": "members"}`.
    fileprivate init(ofRule json: JSONView, for action: ClassAction) throws(SkyrowError) {
        let members = json.isObject ? json.uniqueMembers : []
        guard members.count == 1, let (member, value) = members.first else {
            throw malformed("A subject of a rule is an object with one member.")
        }
        let word = member == "user_id" ? "user" : member
        let subject: Subject?
        if value.boolean == true {
            subject = Subject(key: word)
        } else if let name = value.string, name.isName {
            subject = Subject(key: "\(word):\(name)")
        } else {
            subject = nil
        }
        guard let subject, subject.member == member else {
            throw malformed("This is no subject: \"\(String(member.prefix(64)))\" with this value.")
        }
        guard subject.fits(action) else {
            throw malformed("A rule about \(action.rawValue) cannot name \"\(member)\".")
        }
        switch subject {
        case .registered, .verified, .group, .relation:
            throw malformed("There is no one yet whom \"\(member)\" would mean, so a rule cannot name it.")
        case .everyone, .users, .owner, .user, .role, .field:
            self = subject
        }
    }
}

private func malformed(_ message: String) -> SkyrowError {
    .invalidArgument(message, "rules")
}

extension JSONWriter {
    /// The result of `schema:access:set` and `schema:access:get`.
    package func classAccess(_ access: ClassAccess, of type: RecordTypeName) {
        beginObject()
        key("record_type")
        string(type.rawValue)
        key("rules")
        beginObject()
        for action in ClassAction.allCases {
            let rule = access.rule(action)
            key(action.rawValue)
            beginObject()
            key("allow")
            beginArray()
            for subject in rule.allow {
                beginObject()
                key(subject.member)
                if let name = subject.name { string(name) } else { boolean(true) }
                endObject()
            }
            endArray()
            if action != .create {
                key("mode")
                string(rule.mode.rawValue)
            }
            endObject()
        }
        endObject()
        key("default_access")
        accessList(access.defaultAccess)
        key("list_by")
        if let writers = access.listWriters { string(writers.rawValue) } else { null() }
        key("private")
        boolean(access.allowsPrivate)
        endObject()
    }

    /// The result of `schema:access`.
    package func createRoles(_ request: CreateRolesRequest) {
        beginObject()
        key("type")
        string(request.type.rawValue)
        key("create_roles")
        strings(request.roles.map(\.rawValue))
        endObject()
    }
}
