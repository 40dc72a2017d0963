import SkyrowJSON
import SkyrowModel

extension SkygearFieldRule {
    /// Reads rules; throws `108 InvalidArgument` for anything that is not understood, with its place in `info.path`.
    static func list(_ json: JSONView) throws(SkyrowError) -> [SkygearFieldRule] {
        guard json.isArray, json.count <= maximumRules else {
            throw malformed("\"access\" must be an array of at most \(maximumRules) rules.", "access")
        }
        var rules: [SkygearFieldRule] = []
        rules.reserveCapacity(json.count)
        for (place, element) in json.elements.enumerated() {
            rules.append(try SkygearFieldRule(element, at: "access[\(place)]"))
        }
        return rules
    }

    private init(_ json: JSONView, at place: String) throws(SkyrowError) {
        guard json.isObject else { throw malformed("A field rule must be an object.", place) }
        var texts: [String: String] = [:]
        var flags: [String: Bool] = [:]
        for (key, value) in json.uniqueMembers {
            let place = "\(place).\(String(key.prefix(64)))"
            switch key {
            case "record_type", "record_field", "user_role":
                guard let text = value.string, !text.hasNUL else {
                    throw malformed("\"\(key)\" must be a string.", place)
                }
                texts[key] = text
            case "writable", "readable", "comparable", "discoverable":
                guard let flag = value.boolean else { throw malformed("\"\(key)\" must be true or false.", place) }
                flags[key] = flag
            default:
                throw malformed("A field rule has no such member.", place)
            }
        }
        func required<Value>(_ name: String, in members: [String: Value]) throws(SkyrowError) -> Value {
            guard let value = members[name] else { throw malformed("A field rule must have \"\(name)\".", place) }
            return value
        }
        let typeText = try required("record_type", in: texts)
        let fieldText = try required("record_field", in: texts)
        let role = try required("user_role", in: texts)
        var scope = FieldRuleScope(type: nil, field: nil)
        if typeText != ClassAccess.everyName {
            guard let type = try? RecordTypeName(typeText) else {
                throw malformed("This must be a record type or \"*\".", "\(place).record_type")
            }
            scope.type = type
        }
        if fieldText != ClassAccess.everyName {
            guard let field = try? FieldName(fieldText), !field.isReserved else {
                throw malformed("This must be a field name or \"*\".", "\(place).record_field")
            }
            scope.field = field
        }
        guard let subject = Subject(skygearRole: role) else {
            throw malformed(
                "A \"user_role\" must be _owner, _user_id:…, _field:…, _role:…, _any_user or _public.",
                "\(place).user_role"
            )
        }
        self.init(
            scope,
            subject,
            writable: try required("writable", in: flags),
            readable: try required("readable", in: flags),
            comparable: try required("comparable", in: flags),
            discoverable: try required("discoverable", in: flags)
        )
    }
}

private func malformed(_ message: String, _ place: String) -> SkyrowError {
    SkyrowError.invalidArgument(message, "access").at(place)
}

extension JSONWriter {
    func skygearFieldRules(_ rules: [SkygearFieldRule]) {
        beginArray()
        for rule in rules {
            beginObject()
            member("record_type", rule.scope.type?.rawValue ?? ClassAccess.everyName)
            member("record_field", rule.scope.field?.rawValue ?? ClassAccess.everyName)
            member("user_role", rule.subject.skygearRole ?? "")
            member("writable", rule.isWritable)
            member("readable", rule.isReadable)
            member("comparable", rule.isComparable)
            member("discoverable", rule.isDiscoverable)
            endObject()
        }
        endArray()
    }
}
