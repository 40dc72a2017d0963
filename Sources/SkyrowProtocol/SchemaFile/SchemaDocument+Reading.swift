package import SkyrowJSON
package import SkyrowModel

extension SchemaDocument {
    /// Reads a schema file:
    ///
    /// ```json
    /// {"record_types": {"note": {
    ///   "fields": [{"name": "title", "type": "string"}, {"name": "stars", "type": "integer", "default": 0}],
    ///   "indexes": [{"fields": ["stars desc"]}]}}}
    /// ```
    ///
    /// Throws `108 InvalidArgument` about the first thing that is wrong, and where; a member that has no meaning is wrong,
    /// since it is likely a misspelled one.
    package init(schemaFile json: JSONView) throws(SkyrowError) {
        self.init()
        let file = FileObject(json, at: "the file")
        let members = try file.members(of: ["record_types", "access", "accepted_drift"])
        guard let types = members["record_types"] else { throw file.fault("has no member \"record_types\"") }
        for (name, value) in try FileObject(types, at: "record_types").uniqueMembers() {
            let place = "record_types.\(name)"
            let typeName = try reading(at: place) { () throws(SkyrowError) in try RecordTypeName(name) }
            self.types[typeName] = try DocumentedType(FileObject(value, at: place), named: typeName)
        }
        if let json = members["access"], !json.isNull {
            _ = try FileObject(json, at: "access").members(of: ["fields"])
            accessOfAll = try reading(at: "access") { () throws(SkyrowError) in try ClassAccess(ofAll: json) }
        }
        guard let accepted = members["accepted_drift"] else { return }
        acceptedDrift = Set(try FileObject(accepted, at: "accepted_drift").strings())
    }
}

extension DocumentedType {
    fileprivate init(_ object: FileObject, named name: RecordTypeName) throws(SkyrowError) {
        self.init()
        let members = try object.members(of: ["fields", "indexes", "access", "comment", "renamed_from", "live", "sync"])
        if let text = try object.text(members, "live") {
            guard let live = LiveIdentity(rawValue: text) else {
                throw object.fault("has \"live\": \"\(text)\"; allowed are: full, key")
            }
            self.live = live
        }
        if let sync = members["sync"], !sync.isNull { isFollowed = try object.flag(sync, "sync") }
        if let json = members["access"], !json.isNull {
            let place = "\(object.place).access"
            _ = try FileObject(json, at: place).members(of: ClassAccess.memberNames)
            access = try reading(at: place) { () throws(SkyrowError) in try ClassAccess(json, of: name) }
        }
        comment = try object.text(members, "comment")
        if let name = try object.text(members, "renamed_from") {
            renamedFrom = try reading(at: object.place) { () throws(SkyrowError) in try RecordTypeName(name) }
        }
        guard let fields = members["fields"] else { throw object.fault("has no member \"fields\"") }
        for (number, json) in try FileObject(fields, at: "\(object.place).fields").elements().enumerated() {
            let place = "\(object.place).fields[\(number)]"
            let (name, field) = try DocumentedField.read(FileObject(json, at: place))
            guard self.fields.updateValue(field, forKey: name) == nil else {
                throw object.fault("has the field \"\(name)\" twice")
            }
        }
        guard let indexes = members["indexes"] else { return }
        for (number, json) in try FileObject(indexes, at: "\(object.place).indexes").elements().enumerated() {
            let place = "\(object.place).indexes[\(number)]"
            guard self.indexes.insert(try DocumentedIndex(FileObject(json, at: place))).inserted else {
                throw FileObject(json, at: place).fault("occurs twice")
            }
        }
    }
}

extension DocumentedField {
    fileprivate static func read(_ object: FileObject) throws(SkyrowError) -> (FieldName, DocumentedField) {
        let members = try object.members(of: [
            "name", "type", "sql_type", "generated", "default", "comment", "renamed_from", "on_delete", "text",
        ])
        guard let nameText = try object.text(members, "name"), let typeText = try object.text(members, "type") else {
            throw object.fault("needs the members \"name\" and \"type\"")
        }
        let name = try reading(at: object.place) { () throws(SkyrowError) in try FieldName(nameText) }
        let type: FieldType
        if typeText == "unknown" {
            type = .unknown(try object.text(members, "sql_type") ?? "unknown")
        } else {
            type = try reading(at: object.place) { () throws(SkyrowError) in try FieldType(name: typeText) }
        }
        var field = DocumentedField(type)
        field.comment = try object.text(members, "comment")
        if let former = try object.text(members, "renamed_from") {
            field.renamedFrom = try reading(at: object.place) { () throws(SkyrowError) in try FieldName(former) }
        }
        if let rule = members["on_delete"], !rule.isNull {
            field.onDelete = try reading(at: object.place) { () throws(SkyrowError) in
                try DeleteRule(json: rule, of: type)
            }
        }
        if let text = members["text"], !text.isNull {
            let form = try reading(at: object.place) { () throws(SkyrowError) in try TextForm(json: text, of: type) }
            field.textLanguage = form.language
            field.storesWords = form.isStored
        }
        if field.renamedFrom == .parent || name == .parent && field.renamedFrom != nil {
            throw object.fault("renames a field to or from \"_parent\", which is not allowed")
        }
        if name == .verified || field.renamedFrom == .verified {
            throw object.fault("has the field \"_verified\", which is reserved for the service")
        }
        if name == .parent {
            let rule = members["on_delete"].flatMap { $0.isNull ? nil : field.onDelete }
            try reading(at: object.place) { () throws(SkyrowError) in try RecordType.checkParent(type, rule) }
            field.onDelete = .cascade
        }
        if let generated = members["generated"] { field.isGenerated = try object.flag(generated, "generated") }
        if let defaultValue = members["default"], !defaultValue.isNull {
            field.defaultValue = try field.defaultValue(defaultValue, object)
        }
        return (name, field)
    }

    /// The default as a value of the field's type.
    private func defaultValue(_ json: JSONView, _ object: FileObject) throws(SkyrowError) -> RecordValue {
        let value = try reading(at: object.place) { () throws(SkyrowError) -> RecordValue? in
            guard let value = try RecordValue(json, field: "default") else { return nil }
            // The file may hold white space between the brackets of an empty array.
            if case .json = value, json.count == 0 {
                return .json(JSONText(validated: Array((json.isArray ? "[]" : "{}").utf8)))
            }
            if type == .number, case .integer(let number) = value { return .number(Double(number)) }
            return value
        }
        guard let value, DocumentedField.canDefault(type, to: value) else {
            throw object.fault("has a default that a field of the type \(type.name) cannot have")
        }
        return value
    }
}

extension DocumentedIndex {
    fileprivate init(_ object: FileObject) throws(SkyrowError) {
        let members = try object.members(of: ["fields", "unique", "method"])
        guard let fields = members["fields"] else { throw object.fault("has no member \"fields\"") }
        var columns: [Column] = []
        for text in try FileObject(fields, at: "\(object.place).fields").strings() {
            let words = text.split(separator: " ").map(String.init)
            guard let name = words.first, words.count == 1 || (words.count == 2 && ["asc", "desc"].contains(words[1]))
            else {
                throw object.fault("has \"\(text)\", which is not a field name with an optional asc or desc")
            }
            let isReserved = name.hasPrefix("_")
            if !isReserved { _ = try reading(at: object.place) { () throws(SkyrowError) in try FieldName(name) } }
            guard !columns.contains(where: { $0.name == name }) else { throw object.fault("has \"\(name)\" twice") }
            columns.append(Column(name, isDescending: words.last == "desc" && words.count == 2))
        }
        guard !columns.isEmpty else { throw object.fault("has no field") }
        self.init(columns)
        if let unique = members["unique"] { isUnique = try object.flag(unique, "unique") }
        if let text = try object.text(members, "method") {
            guard let method = Method(rawValue: text) else {
                let names = Method.allCases.map(\.rawValue).joined(separator: ", ")
                throw object.fault("has the method \"\(text)\"; allowed are: \(names)")
            }
            self.method = method
        }
        guard method == .btree || (!isUnique && !columns.contains(where: \.isDescending)) else {
            throw object.fault("has the method \(method.rawValue), which can be neither unique nor descending")
        }
    }
}

/// An object or array of the file and where it is, for the sentence about what is wrong with it.
private struct FileObject {
    let json: JSONView
    let place: String

    init(_ json: JSONView, at place: String) {
        self.json = json
        self.place = place
    }

    func fault(_ what: String) -> SkyrowError {
        .invalidArgument("\(place) \(what).")
    }

    func uniqueMembers() throws(SkyrowError) -> [(name: String, value: JSONView)] {
        guard json.isObject else { throw fault("is not an object") }
        let members = json.uniqueMembers
        guard members.count == json.count else { throw fault("has a member twice") }
        return members
    }

    /// Returns the members by their names; throws for any other name.
    func members(of names: [String]) throws(SkyrowError) -> [String: JSONView] {
        var members: [String: JSONView] = [:]
        for (name, value) in try uniqueMembers() {
            guard names.contains(name) else {
                throw fault("has the unknown member \"\(name)\"; allowed are: \(names.joined(separator: ", "))")
            }
            members[name] = value
        }
        return members
    }

    func elements() throws(SkyrowError) -> JSONView.Elements {
        guard json.isArray else { throw fault("is not an array") }
        return json.elements
    }

    func strings() throws(SkyrowError) -> [String] {
        var texts: [String] = []
        for element in try elements() {
            guard let text = element.string else { throw fault("is not an array of strings") }
            texts.append(text)
        }
        return texts
    }

    func flag(_ json: JSONView, _ name: String) throws(SkyrowError) -> Bool {
        guard let flag = json.boolean else { throw fault("needs true or false for \"\(name)\"") }
        return flag
    }

    /// A string; nil when the member is not there or null.
    func text(_ members: [String: JSONView], _ name: String) throws(SkyrowError) -> String? {
        guard let value = members[name], !value.isNull else { return nil }
        guard let text = value.string else { throw fault("needs a string for \"\(name)\"") }
        guard !text.hasNUL else { throw fault("has a NUL in \"\(name)\"") }
        return text
    }
}

/// Says of an error where in the file its cause is.
private func reading<Success>(
    at place: String,
    _ body: () throws(SkyrowError) -> Success
) throws(SkyrowError) -> Success {
    do throws(SkyrowError) {
        return try body()
    } catch {
        throw .invalidArgument("\(place): \(error.message)")
    }
}
