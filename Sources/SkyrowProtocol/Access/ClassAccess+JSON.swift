package import SkyrowJSON
package import SkyrowModel

extension ClassAccess {
    /// The members of the rules of a type.
    package static let memberNames = ClassAccessChange.rulesForm.members.map(\.name)

    /// Reads the result of `schema:access:get`, and the member `access` of a schema file; a missing member is not set.
    ///
    /// Throws `108 InvalidArgument` for all that is not understood, with its place in `info.path`: a rule that is read in part
    /// would open records.
    package init(_ json: JSONView, of type: RecordTypeName) throws(SkyrowError) {
        guard json.isObject else { throw .invalidArgument("The rules of a type must be an object.", "access") }
        self.init(stated: try ClassAccessChange(of: type, try ClassAccessChange.rulesForm.read(json)))
    }

    /// Reads the member `access` of a schema file that is about every type: `{"fields": {"*": {"update": []}}}`.
    package init(ofAll json: JSONView) throws(SkyrowError) {
        // Profiles are among all types, and have a field of the service.
        try self.init(json, of: .user)
    }

    /// The rules that a message states.
    init(stated change: ClassAccessChange) {
        self = ClassAccess().applying(change)
        // What says the same as what holds anyway is no rule.
        rules = rules.filter { $1 != .standard($0) }
    }
}

extension ClassAccessChange {
    /// The change that states all rules of a type, also the standard ones.
    init(stating access: ClassAccess, of type: RecordTypeName) {
        self.init(type: type, to: access)
        for action in ClassAction.allCases { rules[action] = access.rule(action) }
        fields = access.fields.mapValues { $0.mapValues { .some($0) } }
        everyField = access.everyField.mapValues { .some($0) }
    }
}

extension JSONWriter {
    /// The member `access` of a schema file.
    package func documentedAccess(_ access: ClassAccess) {
        ClassAccessChange.rulesForm.write(ClassAccessChange(stating: access, of: .user), self)
    }

    /// The rules of every type in a schema file.
    package func documentedFieldAccess(_ access: ClassAccess) {
        var change = ClassAccessChange(type: .user)
        change.fieldRules = ClassAccessChange(stating: access, of: .user).fieldRules
        ClassAccessChange.rulesForm.write(change, self)
    }
}

// MARK: Rules of actions

extension Codec<[ClassAction: ClassRule?]> {
    /// Rules by their actions; `null` removes a rule.
    static let classRules = Codec(
        .object(ClassAction.allCases.map { JSONMember($0.rawValue, .nullable(ClassRule.shape(of: $0))) })
    ) { json, name throws(SkyrowError) in
        var rules: [ClassAction: ClassRule?] = [:]
        try json.eachMember(ofParameter: name) { key, value throws(SkyrowError) in
            guard let action = ClassAction(rawValue: key) else {
                throw .invalidArgument("A rule must be for create, read, update or delete.")
            }
            rules.updateValue(try value.isNull ? nil : ClassRule(value, of: action), forKey: action)
        }
        return rules
    } write: { rules, writer in
        writer.beginObject()
        for action in ClassAction.allCases {
            guard let rule = rules[action] else { continue }
            writer.key(action.rawValue)
            if let rule { writer.rule(rule, of: action) } else { writer.null() }
        }
        writer.endObject()
    }
}

extension ClassRule {
    fileprivate init(_ json: JSONView, of action: ClassAction) throws(SkyrowError) {
        guard json.isObject else { throw .invalidArgument("A rule must be an object.") }
        var allow: [Subject]?
        var mode = Mode.default
        try json.eachMember { key, value throws(SkyrowError) in
            switch key {
            case "allow":
                allow = try value.subjects("\"allow\"") { element throws(SkyrowError) in
                    let subject = try Subject(ofRule: element)
                    guard subject.fits(action) else {
                        throw .invalidArgument("A rule for \(action.rawValue) cannot name \"\(subject.member)\".")
                    }
                    return subject
                }
            case "mode" where action != .create:
                guard let known = value.string.flatMap(Mode.init(rawValue:)) else {
                    throw .invalidArgument("The mode of a rule must be default, require or override.")
                }
                mode = known
            default:
                throw .invalidArgument("A rule for \(action.rawValue) has no such member.")
            }
        }
        guard let allow else { throw .invalidArgument("A rule must have \"allow\" with the allowed subjects.") }
        self.init(allow, mode)
    }
}

extension JSONWriter {
    fileprivate func rule(_ rule: ClassRule, of action: ClassAction) {
        beginObject()
        beginArray("allow")
        for subject in rule.allow {
            beginObject()
            member(for: subject)
            endObject()
        }
        endArray()
        if action != .create { member("mode", rule.mode.rawValue) }
        endObject()
    }
}

// MARK: Rules of fields

/// The rules of fields that a change is about; nil removes a rule.
struct FieldRuleChanges: Hashable, Sendable {
    var fields: [FieldName: [FieldUse: FieldSubjects?]] = [:]
    var everyField: [FieldUse: FieldSubjects?] = [:]
}

extension Codec<FieldRuleChanges> {
    /// Rules by the names of fields, with those of every field last. Which fields of the service a type has is not judged.
    static let fieldRules = Codec(
        .object([], others: .nullable(.object([], others: .any)))
    ) { json, name throws(SkyrowError) in
        var changes = FieldRuleChanges()
        try json.eachMember(ofParameter: name) { key, value throws(SkyrowError) in
            if key == ClassAccess.everyName {
                changes.everyField = try FieldUse.rules(value)
            } else if let field = try? FieldName(key) {
                changes.fields[field] = try FieldUse.rules(value)
            } else {
                throw .fieldNameInvalid
            }
        }
        return changes
    } write: { changes, writer in
        writer.beginObject()
        for (field, rules) in changes.fields.sorted(by: { $0.key < $1.key }) { writer.rules(of: field.rawValue, rules) }
        if !changes.everyField.isEmpty { writer.rules(of: ClassAccess.everyName, changes.everyField) }
        writer.endObject()
    }
}

extension FieldUse {
    /// Reads the rules of a field; `null` removes all of them.
    fileprivate static func rules(_ json: JSONView) throws(SkyrowError) -> [FieldUse: FieldSubjects?] {
        var rules: [FieldUse: FieldSubjects?] = [:]
        if json.isNull {
            for use in allCases { rules.updateValue(nil, forKey: use) }
            return rules
        }
        guard json.isObject else { throw .invalidArgument("The rules of a field must be an object.") }
        try json.eachMember { key, value throws(SkyrowError) in
            guard let use = FieldUse(rawValue: key) else {
                throw .invalidArgument("A field rule must be for create, read, update, compare or discover.")
            }
            rules.updateValue(try value.isNull ? nil : FieldSubjects(value, for: use), forKey: use)
        }
        return rules
    }
}

extension FieldSubjects {
    fileprivate init(_ json: JSONView, for use: FieldUse) throws(SkyrowError) {
        let entries: [Entry] = try json.subjects("A field rule") { element throws(SkyrowError) in
            // {"deny": {"role": "guest"}} applies to callers to whom no earlier entry applies.
            let denied = element.isObject && element.count == 1 ? element["deny"] : nil
            let subject = try Subject(ofRule: denied ?? element)
            guard subject.fits(use) else { throw .invalidArgument("A field rule cannot name \"\(subject.member)\".") }
            guard denied == nil || subject.isDeniable else {
                throw .invalidArgument("A field rule cannot deny keys: a request may omit its key.")
            }
            return Entry(subject, allows: denied == nil)
        }
        self.init(entries)
    }
}

extension JSONWriter {
    fileprivate func rules(of field: String, _ rules: [FieldUse: FieldSubjects?]) {
        key(field)
        beginObject()
        for use in FieldUse.allCases {
            guard let rule = rules[use] else { continue }
            key(use.rawValue)
            if let rule { subjects(rule) } else { null() }
        }
        endObject()
    }

    private func subjects(_ rule: FieldSubjects) {
        beginArray()
        for entry in rule.entries {
            beginObject()
            if !entry.allows { beginObject("deny") }
            member(for: entry.subject)
            if !entry.allows { endObject() }
            endObject()
        }
        endArray()
    }
}

// MARK: Subjects, and places in the path of an error

extension Subject {
    /// Reads `{"role": "editor"}`, `{"owner": true}`, `{"field": "members"}`.
    fileprivate init(ofRule json: JSONView) throws(SkyrowError) {
        let members = json.isObject ? json.uniqueMembers : []
        guard members.count == 1, let (member, value) = members.first else {
            throw .invalidArgument("A subject of a rule must be an object with one member.")
        }
        let name = value.string.flatMap { $0.isName ? $0 : nil }
        guard let kind = Kind.all.first(where: { $0.member.description == member }),
            kind.hasName ? name != nil : value.boolean == true,
            let subject = Subject(kind, name: name ?? "")
        else {
            throw .invalidArgument("\"\(String(member.prefix(64)))\" with this value is not a subject.")
        }
        self = subject
    }
}

extension JSONView {
    /// Calls `body` with each member of an object; the path of an error begins with a dot and the name of the member.
    fileprivate func eachMember(_ body: (_ name: String, JSONView) throws(SkyrowError) -> Void) throws(SkyrowError) {
        for (name, value) in uniqueMembers {
            do throws(SkyrowError) {
                try body(name, value)
            } catch {
                throw error.at(".\(name.prefix(64))")
            }
        }
    }

    /// Calls `body` with each member of a parameter; an error names the parameter, with which its path begins.
    fileprivate func eachMember(
        ofParameter parameter: String,
        _ body: (_ name: String, JSONView) throws(SkyrowError) -> Void
    ) throws(SkyrowError) {
        guard isObject else { throw .wrongType(parameter, "an object") }
        do throws(SkyrowError) {
            try eachMember(body)
        } catch {
            throw error.inParameter(parameter)
        }
    }

    /// Reads the subjects of a rule; the path of an error begins with the index of the subject.
    fileprivate func subjects<Element>(
        _ what: String,
        _ read: (JSONView) throws(SkyrowError) -> Element
    ) throws(SkyrowError) -> [Element] {
        guard isArray, count <= ClassRule.utmostSubjects else {
            throw .invalidArgument("\(what) must be an array of at most \(ClassRule.utmostSubjects) subjects.")
        }
        var subjects: [Element] = []
        subjects.reserveCapacity(count)
        for (place, element) in elements.enumerated() {
            do throws(SkyrowError) {
                subjects.append(try read(element))
            } catch {
                throw error.at(place)
            }
        }
        return subjects
    }
}

extension SkyrowError {
    static let fieldNameInvalid = SkyrowError.invalidArgument("This is not a valid field name.")

    /// Returns the error about a value inside of a parameter.
    func inParameter(_ name: String) -> SkyrowError {
        var error = at(name)
        error.info["arguments"] = .list([.string(name)])
        return error
    }
}
