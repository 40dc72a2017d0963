package import SkyrowJSON
package import SkyrowModel

extension ClassAccessChange {
    /// Reads the parameters of `schema:access:set`.
    ///
    /// Throws `108 InvalidArgument` for unknown members and values, with their place in `info.path`: a rule that was only
    /// partly understood could open records.
    package init(parameters json: JSONView) throws(SkyrowError) {
        self.init(type: try Parameters(json).recordType())
        try read(members: json)
    }

    /// Reads everything but the type.
    fileprivate mutating func read(members json: JSONView) throws(SkyrowError) {
        let parameters = Parameters(json)
        if let rules = try parameters.object("rules") { try read(rules: rules) }
        if let fields = try parameters.object("fields") { try read(fields: fields) }
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
                throw .invalidArgument("\"list_by\" must be owner, update or null.", "list_by")
            }
            listWriters = .some(known)
        }
        if let readers = json["list_read_by"] {
            let known = readers.string.flatMap(ClassAccess.ListReaders.init(rawValue:))
            guard readers.isNull || known != nil else {
                throw .invalidArgument("\"list_read_by\" must be owner, update, read or null.", "list_read_by")
            }
            listReaders = .some(known)
        }
        if let name = try parameters.string("transfer_by") {
            guard let known = ClassAccess.Transferrers(rawValue: name) else {
                throw .invalidArgument("\"transfer_by\" must be master or owner.", "transfer_by")
            }
            transferrers = known
        }
        if let name = try parameters.string("creator") {
            guard let known = ClassAccess.NewOwner(rawValue: name) else {
                throw .invalidArgument("\"creator\" must be owner or none.", "creator")
            }
            newOwner = known
        }
        allowsPrivate = try parameters.boolean("private")
        allowsAggregates = try parameters.boolean("aggregate")
    }

    private mutating func read(rules json: JSONView) throws(SkyrowError) {
        for (key, value) in json.uniqueMembers {
            guard let action = ClassAction(rawValue: key) else {
                throw SkyrowError.invalidArgument("A rule must be for create, read, update or delete.", "rules")
                    .at("rules.\(String(key.prefix(64)))")
            }
            do throws(SkyrowError) {
                let rule = try value.isNull ? nil : ClassRule(value, of: action)
                rules.updateValue(rule, forKey: action)
            } catch {
                throw error.at("rules.\(key)")
            }
        }
    }
}

extension ClassAccessChange {
    fileprivate mutating func read(fields json: JSONView) throws(SkyrowError) {
        for (key, value) in json.uniqueMembers {
            let place = "fields.\(String(key.prefix(64)))"
            let field = try? FieldName(key)
            let isOfService = type == .user && field == .verified
            guard key == ClassAccess.everyName || isOfService || field?.isReserved == false else {
                throw SkyrowError.invalidArgument("This is not a valid field name.", "fields").at(place)
            }
            let uses = try Self.uses(value, at: place)
            guard let field else {
                everyField = uses
                continue
            }
            if !uses.isEmpty { fields[field] = uses }
        }
    }

    /// The rules of a field, null for a change that takes all of them away.
    private static func uses(
        _ json: JSONView,
        at place: String
    ) throws(SkyrowError) -> [FieldUse: FieldSubjects?] {
        var uses: [FieldUse: FieldSubjects?] = [:]
        if json.isNull {
            for use in FieldUse.allCases { uses.updateValue(nil, forKey: use) }
            return uses
        }
        guard json.isObject else {
            throw SkyrowError.invalidArgument("The rules of a field must be an object.", "fields").at(place)
        }
        for (key, value) in json.uniqueMembers {
            let place = "\(place).\(String(key.prefix(64)))"
            guard let use = FieldUse(rawValue: key) else {
                throw SkyrowError.invalidArgument(
                    "A field rule must be for create, read, update, compare or discover.",
                    "fields"
                ).at(place)
            }
            let allow = try value.isNull ? nil : FieldSubjects(ofFieldRule: value, about: use, at: place)
            uses.updateValue(allow, forKey: use)
        }
        return uses
    }
}

extension FieldSubjects {
    fileprivate init(ofFieldRule json: JSONView, about use: FieldUse, at place: String) throws(SkyrowError) {
        guard json.isArray, json.count <= ClassRule.utmostSubjects else {
            throw SkyrowError.invalidArgument(
                "A field rule must be an array of at most \(ClassRule.utmostSubjects) subjects.",
                "fields"
            ).at(place)
        }
        var entries: [Entry] = []
        for (number, element) in json.elements.enumerated() {
            let place = "\(place)[\(number)]"
            // {"deny": {"role": "guest"}} applies to callers to whom no earlier entry applies.
            let denied = element.isObject && element.count == 1 ? element["deny"] : nil
            let subject: Subject
            do throws(SkyrowError) { subject = try Subject(named: denied ?? element) } catch {
                throw SkyrowError.invalidArgument(error.message, "fields").at(place)
            }
            guard subject.fits(use) else {
                throw SkyrowError.invalidArgument(
                    "A field rule cannot name \"\(subject.member)\".",
                    "fields"
                ).at(place)
            }
            guard denied == nil || subject.isDeniable else {
                throw SkyrowError.invalidArgument(
                    "A field rule cannot deny keys: a request may omit its key.",
                    "fields"
                ).at(place)
            }
            entries.append(Entry(subject, allows: denied == nil))
        }
        self.init(entries)
    }
}

extension ClassAccess {
    /// The members of the rules of a type.
    package static let memberNames = [
        "rules", "fields", "default_access", "list_by", "list_read_by", "transfer_by", "creator", "private",
        "aggregate",
    ]

    /// Reads what `schema:access:get` responds with, and the member `access` of a schema file: what is not there is as it is
    /// where nothing was set.
    ///
    /// Throws as ``ClassAccessChange/init(parameters:)``.
    package init(_ json: JSONView, of type: RecordTypeName) throws(SkyrowError) {
        guard json.isObject else { throw .invalidArgument("The rules of a type must be an object.", "access") }
        var change = ClassAccessChange(type: type)
        try change.read(members: json)
        self = ClassAccess().applying(change)
        // What says the same as what holds anyway is no rule.
        rules = rules.filter { $1 != .standard($0) }
    }
}

extension ClassAccess {
    /// Reads the member `access` of a schema file that is about every type: `{"fields": {"*": {"update": []}}}`.
    package init(ofAll json: JSONView) throws(SkyrowError) {
        guard json.isObject else { throw .invalidArgument("The rules of all types must be an object.", "access") }
        var change = ClassAccessChange(type: .user)
        if let fields = try Parameters(json).object("fields") { try change.read(fields: fields) }
        self = ClassAccess().applying(change)
    }
}

extension ClassRule {
    fileprivate init(_ json: JSONView, of action: ClassAction) throws(SkyrowError) {
        guard json.isObject else { throw malformed("A rule must be an object.") }
        var allow: [Subject]?
        var mode = Mode.default
        for (key, value) in json.uniqueMembers {
            switch key {
            case "allow":
                guard value.isArray, value.count <= Self.utmostSubjects else {
                    throw malformed("\"allow\" must be an array of at most \(Self.utmostSubjects) subjects.").at(
                        ".allow"
                    )
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
                    throw malformed("The mode of a rule must be default, require or override.").at(".mode")
                }
                mode = known
            default:
                throw malformed("A rule for \(action.rawValue) has no such member.").at(".\(String(key.prefix(64)))")
            }
        }
        guard let allow else { throw malformed("A rule must have \"allow\" with the allowed subjects.") }
        self.init(allow, mode)
    }
}

extension Subject {
    /// Reads `{"role": "editor"}`, `{"owner": true}`, `{"field": "members"}`.
    fileprivate init(named json: JSONView) throws(SkyrowError) {
        let members = json.isObject ? json.uniqueMembers : []
        guard members.count == 1, let (member, value) = members.first else {
            throw malformed("A subject of a rule must be an object with one member.")
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
            throw malformed("\"\(String(member.prefix(64)))\" with this value is not a subject.")
        }
        self = subject
    }

    fileprivate init(ofRule json: JSONView, for action: ClassAction) throws(SkyrowError) {
        let subject = try Subject(named: json)
        let member = subject.member
        guard subject.fits(action) else {
            throw malformed("A rule for \(action.rawValue) cannot name \"\(member)\".")
        }
        self = subject
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
        members(of: access)
        endObject()
    }

    private func rule(_ rule: ClassRule, of action: ClassAction) {
        beginObject()
        key("allow")
        subjects(rule.allow)
        if action != .create {
            key("mode")
            string(rule.mode.rawValue)
        }
        endObject()
    }

    private func subjects(_ subjects: [Subject]) {
        beginArray()
        for subject in subjects {
            beginObject()
            key(subject.member)
            if let name = subject.name { string(name) } else { boolean(true) }
            endObject()
        }
        endArray()
    }

    private func subjects(_ rule: FieldSubjects) {
        beginArray()
        for entry in rule.entries {
            beginObject()
            if !entry.allows {
                key("deny")
                beginObject()
            }
            key(entry.subject.member)
            if let name = entry.subject.name { string(name) } else { boolean(true) }
            if !entry.allows { endObject() }
            endObject()
        }
        endArray()
    }

    /// The member `fields`, where there are any; nil in a rule takes it away.
    private func rules(
        ofFields fields: [FieldName: [FieldUse: FieldSubjects?]],
        ofEvery everyField: [FieldUse: FieldSubjects?]
    ) {
        if fields.isEmpty, everyField.isEmpty { return }
        key("fields")
        beginObject()
        for (field, uses) in fields.sorted(by: { $0.key < $1.key }) { rules(of: field.rawValue, uses) }
        if !everyField.isEmpty { rules(of: ClassAccess.everyName, everyField) }
        endObject()
    }

    private func rules(of field: String, _ uses: [FieldUse: FieldSubjects?]) {
        key(field)
        beginObject()
        for use in FieldUse.allCases {
            guard let allow = uses[use] else { continue }
            key(use.rawValue)
            if let allow { subjects(allow) } else { null() }
        }
        endObject()
    }

    private func rulesOfFields(_ access: ClassAccess) {
        rules(
            ofFields: access.fields.mapValues { $0.mapValues { .some($0) } },
            ofEvery: access.everyField.mapValues { .some($0) }
        )
    }

    /// The rules of every type in a schema file.
    package func documentedFieldAccess(_ access: ClassAccess) {
        beginObject()
        rulesOfFields(access)
        endObject()
    }

    private func members(of access: ClassAccess) {
        key("rules")
        beginObject()
        for action in ClassAction.allCases {
            key(action.rawValue)
            rule(access.rule(action), of: action)
        }
        endObject()
        rulesOfFields(access)
        key("default_access")
        accessList(access.defaultAccess)
        key("list_by")
        if let writers = access.listWriters { string(writers.rawValue) } else { null() }
        key("list_read_by")
        if let readers = access.listReaders { string(readers.rawValue) } else { null() }
        key("transfer_by")
        string(access.transferrers.rawValue)
        key("creator")
        string(access.newOwner.rawValue)
        key("private")
        boolean(access.allowsPrivate)
        key("aggregate")
        boolean(access.allowsAggregates)
    }

    /// The member `access` of a schema file.
    package func documentedAccess(_ access: ClassAccess) {
        beginObject()
        members(of: access)
        endObject()
    }

    /// The parameters of `schema:access:set`.
    package func classAccessParameters(_ change: ClassAccessChange) {
        beginObject()
        key("record_type")
        string(change.type.rawValue)
        if !change.rules.isEmpty {
            key("rules")
            beginObject()
            for action in ClassAction.allCases {
                guard let rule = change.rules[action] else { continue }
                key(action.rawValue)
                if let rule { self.rule(rule, of: action) } else { null() }
            }
            endObject()
        }
        rules(ofFields: change.fields, ofEvery: change.everyField)
        if let list = change.defaultAccess {
            key("default_access")
            accessList(list)
        }
        if let writers = change.listWriters {
            key("list_by")
            if let writers { string(writers.rawValue) } else { null() }
        }
        if let readers = change.listReaders {
            key("list_read_by")
            if let readers { string(readers.rawValue) } else { null() }
        }
        if let transferrers = change.transferrers {
            key("transfer_by")
            string(transferrers.rawValue)
        }
        if let newOwner = change.newOwner {
            key("creator")
            string(newOwner.rawValue)
        }
        if let allowsPrivate = change.allowsPrivate {
            key("private")
            boolean(allowsPrivate)
        }
        if let allowsAggregates = change.allowsAggregates {
            key("aggregate")
            boolean(allowsAggregates)
        }
        endObject()
    }
}
