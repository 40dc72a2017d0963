package import SkyrowJSON
package import SkyrowModel

extension RecordType {
    /// Reads types with their fields, `{"note": {"fields": [{"name": "age", "type": "integer"}]}}`.
    static func types(_ json: JSONView, _ parameter: String) throws(SkyrowError) -> [RecordType] {
        guard json.isObject else { throw .wrongType(parameter, "an object") }
        guard json.count > 0 else { throw .invalidArgument("\"\(parameter)\" is empty.", parameter) }
        guard json.count <= WireLimits.batchCount else { throw .tooMany(parameter, WireLimits.batchCount) }
        var list: [RecordType] = []
        for (name, value) in json.uniqueMembers {
            do throws(SkyrowError) {
                list.append(try RecordType(name: name, value))
            } catch {
                throw .invalidArgument(error.message, parameter)
            }
        }
        return list
    }

    /// Reads `{"fields": [{"name": …, "type": …}]}`.
    fileprivate init(name: String, _ json: JSONView) throws(SkyrowError) {
        self.init(name: try RecordTypeName(name))
        guard let list = json["fields"], list.isArray else {
            throw .invalidArgument("A record type must be an object with the array \"fields\".")
        }
        for field in list.elements {
            guard let name = field["name"]?.string, let type = field["type"]?.string else {
                throw .invalidArgument("A field must be an object with the strings \"name\" and \"type\".")
            }
            let fieldType = try FieldType(name: type)
            let fieldName = try FieldName(name)
            guard fieldName != .verified else { throw RecordType.verifiedIsKept }
            if let other = fields.updateValue(fieldType, forKey: fieldName), other != fieldType {
                throw .invalidArgument("The field \"\(name)\" has two types.")
            }
            if let rule = field["on_delete"], !rule.isNull {
                deleteRules[fieldName] = try DeleteRule(json: rule, of: fieldType)
            }
            if let text = field["text"], !text.isNull {
                let form = try TextForm(json: text, of: fieldType)
                textLanguages[fieldName] = form.language
                if form.isStored { storedTexts.insert(fieldName) }
            }
            if fieldName == .parent { try RecordType.checkParent(fieldType, deleteRules[fieldName]) }
        }
    }
}

extension DeleteRule {
    /// Reads `on_delete` of a field; throws `108 InvalidArgument` for another word, and for what is no reference.
    init(json: JSONView, of type: FieldType) throws(SkyrowError) {
        let names = DeleteRule.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
        guard let rule = json.string.flatMap(DeleteRule.init(rawValue:)) else {
            throw .invalidArgument("\"on_delete\" must be one of \(names).", "on_delete")
        }
        guard case .reference = type else {
            throw .invalidArgument("Only a reference can have \"on_delete\".", "on_delete")
        }
        self = rule
    }
}

/// `text` of a field: a language, `"english"`, or what becomes of its words too, `{"language": "english", "stored": true}`.
struct TextForm: Hashable, Sendable {
    var language: TextLanguage
    var isStored = false

    /// Throws `108 InvalidArgument` for an unknown language, for words that are stored without one, and for a value that is not
    /// a string.
    init(json: JSONView, of type: FieldType) throws(SkyrowError) {
        var name = json.string
        if json.isObject {
            for (member, _) in json.members where !["language", "stored"].contains(member.string ?? "") {
                throw .invalidArgument("\"text\" can only have the members language and stored.", "text")
            }
            name = json["language"]?.string
            if let stored = json["stored"], !stored.isNull {
                guard let isStored = stored.boolean else {
                    throw .invalidArgument("\"stored\" must be true or false.", "text")
                }
                self.isStored = isStored
            }
        }
        guard let language = name.flatMap(TextLanguage.init(rawValue:)) else {
            let names = TextLanguage.allCases.map(\.rawValue).joined(separator: ", ")
            throw .invalidArgument("\"text\" must be one of \(names).", "text")
        }
        guard type == .string else { throw .invalidArgument("Only a string can have \"text\".", "text") }
        if isStored { try RecordType.checkStored(language) }
        self.language = language
    }
}

extension JSONWriter {
    /// The form of a text that is not as it is without one.
    func textForm(_ language: TextLanguage, isStored: Bool) {
        guard isStored else { return string(language.rawValue) }
        beginObject()
        member("language", language.rawValue)
        member("stored", true)
        endObject()
    }
}

extension RecordSchema {
    /// Reads the result of the `schema:*` actions.
    package init(result json: JSONView) throws(SkyrowError) {
        self.init()
        for (name, value) in json["record_types"]?.uniqueMembers ?? [] {
            let type = try RecordTypeName(name)
            var recordType = RecordType(name: type)
            for field in value["fields"]?.elements ?? json.elements {
                guard let name = field["name"]?.string, let text = field["type"]?.string else { continue }
                let fieldName = try FieldName(name)
                // A server may be newer than its client.
                recordType.fields[fieldName] = (try? FieldType(name: text)) ?? .unknown(text)
                recordType.deleteRules[fieldName] = field["on_delete"]?.string.flatMap(DeleteRule.init(rawValue:))
                if let text = field["text"], let form = try? TextForm(json: text, of: .string) {
                    recordType.textLanguages[fieldName] = form.language
                    if form.isStored { recordType.storedTexts.insert(fieldName) }
                }
            }
            types[type] = recordType
        }
    }
}

extension JSONWriter {
    /// The result of the `schema:*` actions, types and fields sorted by name.
    package func schema(_ schema: RecordSchema) {
        beginObject()
        key("record_types")
        recordTypes(Array(schema.types.values))
        endObject()
    }

    /// Types with their fields, sorted by name: the parameter of `schema:create`.
    package func recordTypes(_ types: [RecordType]) {
        beginObject()
        for type in types.sorted(by: { $0.name < $1.name }) {
            key(type.name.rawValue)
            beginObject()
            beginArray("fields")
            for (name, fieldType) in type.fields.sorted(by: { $0.key < $1.key }) {
                beginObject()
                member("name", name.rawValue)
                member("type", fieldType.name)
                if let rule = type.deleteRules[name], rule != .restrict { member("on_delete", rule.rawValue) }
                if let language = type.textLanguages[name], language != .words {
                    key("text")
                    textForm(language, isStored: type.storedTexts.contains(name))
                }
                endObject()
            }
            endArray()
            endObject()
        }
        endObject()
    }
}
