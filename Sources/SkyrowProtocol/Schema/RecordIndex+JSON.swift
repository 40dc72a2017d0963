package import SkyrowJSON
package import SkyrowModel

extension IndexDefinition {
    /// Reads the parameters of `schema:index:create`, `{"record_type": "film", "fields": [["year", "desc"], ["rating"]]}`.
    package init(parameters json: JSONView) throws(SkyrowError) {
        let parameters = Parameters(json)
        let type = try parameters.recordType()
        var kind = IndexKind.order
        if let name = try parameters.string("kind") {
            guard let known = IndexKind(rawValue: name) else {
                let names = IndexKind.allCases.map(\.rawValue).joined(separator: ", ")
                throw .invalidArgument("The kind of an index must be one of \(names).", "kind")
            }
            kind = known
        }
        let list = try parameters.required("fields", parameters.array("fields"))
        guard (1...Self.maximumFields).contains(list.count) else {
            throw .invalidArgument("An index must have 1 to \(Self.maximumFields) fields.", "fields")
        }
        var fields: [IndexField] = []
        for (place, element) in list.elements.enumerated() {
            do throws(SkyrowError) {
                fields.append(try IndexField(element))
            } catch {
                throw error.at(place).at("fields")
            }
        }
        if try parameters.boolean("fold") ?? false {
            for place in fields.indices { fields[place].isFolded = true }
        }
        var treatsNullsAsEqual = false
        if let nulls = try parameters.string("nulls") {
            guard ["equal", "distinct"].contains(nulls) else {
                throw .invalidArgument("\"nulls\" must be equal or distinct.", "nulls")
            }
            treatsNullsAsEqual = nulls == "equal"
        }
        self.init(
            of: type,
            fields,
            kind: kind,
            isUnique: try parameters.boolean("unique") ?? false,
            treatsNullsAsEqual: treatsNullsAsEqual
        )
    }
}

extension IndexField {
    /// Reads `"rating"`, `["year", "desc"]`, `["rating"]`, `[["func", "fold", "title"], "asc"]`, or a value inside JSON,
    /// `[{"$type": "keypath", "$val": "meta.size.w", "$as": "number"}]`.
    fileprivate init(_ json: JSONView) throws(SkyrowError) {
        let shape = SkyrowError.invalidArgument(
            """
            A field of an index must be its name, such as "year", or an array, such as ["year", "desc"]: of a name, \
            ["func", "fold", name] or a key path into JSON with "$as", and optionally a direction, asc or desc.
            """,
            "fields"
        )
        if let name = json.string {
            guard name.isName else { throw shape }
            self.init(name, .ascending)
            return
        }
        guard json.isArray, (1...2).contains(json.count), let first = json.firstElement else { throw shape }
        var direction = SortKey.Direction.ascending
        if json.count == 2 {
            let text = Array(json.elements)[1].string
            guard let text, let known = SortKey.Direction(rawValue: text) else { throw shape }
            direction = known
        }
        if first["$as"] != nil {
            guard let path = try? FieldPath(json: first), let type = path.jsonType, path.components.count > 1,
                path.components.allSatisfy(\.isName)
            else { throw shape }
            self.init(path.description, as: type, direction)
        } else if let name = Self.name(first) {
            self.init(name, direction)
        } else {
            let parts = first.isArray && first.count == 3 ? Array(first.elements) : []
            guard parts.count == 3, parts[0].string == "func", parts[1].string == "fold", let name = Self.name(parts[2])
            else { throw shape }
            self.init(name, direction, isFolded: true)
        }
    }

    /// A name by itself, or as a key path.
    private static func name(_ json: JSONView) -> String? {
        let text = json.string ?? (json["$type"]?.string == "keypath" ? json["$val"]?.string : nil)
        guard let text, text.isName else { return nil }
        return text
    }
}

extension RecordIndex {
    /// Reads an index as the actions `schema:index:*` return it.
    package init(result json: JSONView) throws(SkyrowError) {
        guard let name = json["name"]?.string, let type = json["record_type"]?.string else {
            throw SkyrowError(.badRequest, "An index must have a name and a record type.")
        }
        self.init(name: name, type: try RecordTypeName(type), state: .foreign)
        // A server may be newer than its client.
        state = (json["state"]?.string).flatMap(State.init) ?? .foreign
        attempts = (json["attempts"]?.wholeNumber).flatMap { Int(exactly: $0) } ?? 0
        bytes = json["bytes"]?.wholeNumber
        isValid = json["valid"]?.boolean ?? true
        statement = json["statement"]?.string
        if let reason = json["reason"]?.string {
            failure = IndexFailure(
                IndexFailure.Reason(rawValue: reason) ?? .error,
                duplicates: json["duplicates"]?.wholeNumber,
                sqlState: json["sql_state"]?.string
            )
        }
        if let phase = json["phase"]?.string {
            progress = Progress(
                phase: phase,
                blocksDone: json["blocks_done"]?.wholeNumber ?? 0,
                blocksTotal: json["blocks_total"]?.wholeNumber ?? 0
            )
        }
        guard let kind = (json["kind"]?.string).flatMap(IndexKind.init), let list = json["fields"] else { return }
        let isFolded = json["fold"]?.boolean ?? false
        var fields: [IndexField] = []
        for element in list.elements {
            var field = try IndexField(element)
            field.isFolded = field.isFolded || isFolded
            fields.append(field)
        }
        definition = IndexDefinition(
            of: self.type,
            fields,
            kind: kind,
            isUnique: json["unique"]?.boolean ?? false,
            treatsNullsAsEqual: json["nulls"]?.string == "equal"
        )
    }
}

extension JSONWriter {
    /// The result of `schema:index:create` and `schema:index:delete`, and an element of the list.
    package func index(_ index: RecordIndex) {
        beginObject()
        member("name", index.name)
        member("record_type", index.type.rawValue)
        if let definition = index.definition { members(of: definition) }
        member("state", index.state.rawValue)
        if index.attempts > 0 { member("attempts", index.attempts) }
        if let failure = index.failure {
            member("reason", failure.reason.rawValue)
            if let duplicates = failure.duplicates { member("duplicates", duplicates) }
            if let state = failure.sqlState { member("sql_state", state) }
        }
        if let progress = index.progress {
            member("phase", progress.phase)
            member("blocks_done", progress.blocksDone)
            member("blocks_total", progress.blocksTotal)
        }
        if let bytes = index.bytes { member("bytes", bytes) }
        if let statement = index.statement {
            member("valid", index.isValid)
            member("statement", statement)
        }
        endObject()
    }

    /// The parameters of `schema:index:create`.
    package func indexDefinition(_ definition: IndexDefinition) {
        beginObject()
        member("record_type", definition.type.rawValue)
        members(of: definition)
        endObject()
    }

    private func members(of definition: IndexDefinition) {
        beginArray("fields")
        for field in definition.fields {
            beginArray()
            if field.jsonType != nil {
                keyPath(field.keyPath)
            } else if field.isFolded, definition.kind != .trigram {
                strings(["func", "fold", field.name])
            } else {
                string(field.name)
            }
            if field.direction == .descending { string("desc" as StaticString) }
            endArray()
        }
        endArray()
        member("kind", definition.kind.rawValue)
        if definition.kind == .trigram, definition.fields.contains(where: \.isFolded) { member("fold", true) }
        if definition.isUnique { member("unique", true) }
        if definition.treatsNullsAsEqual { member("nulls", "equal") }
    }
}
