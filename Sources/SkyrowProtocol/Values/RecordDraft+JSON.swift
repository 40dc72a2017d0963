package import SkyrowJSON
package import SkyrowModel

extension RecordDraft {
    /// Reads a record to be saved (skygear.md 3.1).
    ///
    /// Members that begin with `_`, and in Skygear's envelope those that are empty, are dropped, but for `_id`, `_parent`, `_access`, `_if_revision`,
    /// `_if`, the newer `_recordType` with `_recordID`, and `_verified` of a profile but in Skygear's envelope. Throws `108 InvalidArgument` about the member that cannot be read,
    /// `111 NotSupported` for value types that this server does not have and `132 PayloadTooLarge` beyond 1 MB.
    package init(_ json: JSONView, rules: ReadingRules = .rpc) throws(SkyrowError) {
        try self.init(json, as: nil, rules: rules)
    }

    /// - Parameter id: the record's id; nil where a member has it.
    init(_ json: JSONView, as id: RecordID?, rules: ReadingRules) throws(SkyrowError) {
        guard json.isObject else { throw .invalidArgument("A record must be an object.", "records") }
        guard json.source.count <= WireLimits.recordBytes else {
            throw SkyrowError(.payloadTooLarge, "A record can have at most \(WireLimits.recordBytes) bytes of JSON.")
        }
        var members = DraftMembers()
        members.fields.reserveCapacity(json.count)
        for (key, value) in json.members {
            if key.firstByte == UInt8(ascii: "_"), !key.equals("_parent") {
                members.readReserved(key, value)
            } else if let name = key.string, !name.isEmpty || !rules.dropsUnnamedFields {
                if value.isObject, let change = try FieldOperator(value, of: name, rules: rules) {
                    try members.fields.append(name, change)
                } else {
                    try members.fields.append(name, value, rules: rules)
                }
            }
        }
        try members.fields.requireFewOperators()
        let id = try members.recordID(or: id)
        if let verified = members.verified, id.type == .user, !rules.dropsUnnamedFields {
            try members.fields.append(FieldName.verified.rawValue, verified, rules: rules)
        }
        self.init(
            id: id,
            access: try members.access.flatMap { json throws(SkyrowError) in try AccessList(json) },
            fields: members.fields.list,
            precondition: try members.revision.flatMap { json throws(SkyrowError) in try SavePrecondition(json) },
            operators: members.fields.operators,
            condition: try members.condition.flatMap { json throws(SkyrowError) in
                json.isNull ? nil : try RecordPredicate(json, named: "_if")
            }
        )
    }

    /// The id of a record that cannot be read otherwise, as it was sent.
    static func sentID(_ json: JSONView) -> String? {
        if let type = json["_recordType"]?.string, let id = json["_recordID"]?.string { return "\(type)/\(id)" }
        return json["_id"]?.string
    }
}

/// What a draft is made of, as the members come.
private struct DraftMembers {
    var id: JSONView?
    var type: JSONView?
    var idInType: JSONView?
    var access: JSONView?
    var revision: JSONView?
    var condition: JSONView?
    var verified: JSONView?
    var fields = DraftFields()

    mutating func readReserved(_ key: JSONView, _ value: JSONView) {
        if key.equals("_id") {
            id = value
        } else if key.equals("_access") {
            access = value
        } else if key.equals("_if_revision") {
            revision = value
        } else if key.equals("_if") {
            condition = value
        } else if key.equals("_verified") {
            verified = value
        } else if key.equals("_recordType") {
            type = value
        } else if key.equals("_recordID") {
            idInType = value
        }
    }

    /// - Parameter known: the id, where no member has it.
    func recordID(or known: RecordID?) throws(SkyrowError) -> RecordID {
        if let known { return known }
        if let type, let idInType, !type.isNull, !idInType.isNull {
            guard let type = type.string, let id = idInType.string else {
                throw .invalidArgument("_recordType and _recordID must be strings.", "id")
            }
            return try RecordID(type: RecordTypeName(type), id: id)
        }
        guard let id, id.isString else {
            throw .invalidArgument("A record must have the member _id with \"type/id\".", "id")
        }
        return try RecordID(json: id)
    }
}

/// Fields in the order of their names' first coming, each with its last value.
struct DraftFields {
    private(set) var list: [(name: FieldName, value: RecordValue)] = []
    /// The fields that have an operator and no value; each name is here or in the list.
    private(set) var operators: [(name: FieldName, change: FieldOperator)] = []
    /// Made when a walk through the list would take long.
    private var places: [FieldName: Int]?

    mutating func reserveCapacity(_ count: Int) {
        list.reserveCapacity(min(count, 32))
    }

    /// Reads one member; throws `108 InvalidArgument` about it.
    mutating func append(_ text: String, _ json: JSONView, rules: ReadingRules) throws(SkyrowError) {
        let name = try fieldName(text)
        guard var value = try RecordValue(json, field: text) else { return }
        if rules.integersAreNumbers { value = value.read(by: rules) }
        if !operators.isEmpty { operators.removeAll { $0.name == name } }
        if let place = place(of: name) { list[place].value = value } else { add(name, value) }
    }

    /// Takes one member with an operator; throws `108 InvalidArgument` about its name.
    mutating func append(_ text: String, _ change: FieldOperator) throws(SkyrowError) {
        let name = try fieldName(text)
        if let place = place(of: name) {
            list.remove(at: place)
            places = places == nil ? nil : Dictionary(uniqueKeysWithValues: list.enumerated().map { ($1.name, $0) })
        }
        if let place = operators.firstIndex(where: { $0.name == name }) {
            operators[place].change = change
        } else {
            operators.append((name, change))
        }
    }

    /// Throws `108 InvalidArgument` about the first operator beyond what a record may have.
    func requireFewOperators() throws(SkyrowError) {
        var count = 0
        var predicates = 0
        for (name, change) in operators {
            count += change.steps.count
            predicates += change.steps.count { if case .pullWhere = $0.kind { true } else { false } }
            guard predicates <= FieldOperator.Limits.predicates else {
                throw SkyrowError.invalidArgument(
                    "At most \(FieldOperator.Limits.predicates) operator of a record can have \"$where\"."
                ).inOperator(on: name.rawValue)
            }
            guard count > FieldOperator.Limits.count else { continue }
            throw SkyrowError.invalidArgument("A record can have at most \(FieldOperator.Limits.count) operators.")
                .inOperator(on: name.rawValue)
        }
    }

    private func fieldName(_ text: String) throws(SkyrowError) -> FieldName {
        do throws(SkyrowError) {
            return try FieldName(text)
        } catch {
            throw .invalidArgument(error.message, excerpt(of: text))
        }
    }

    private mutating func add(_ name: FieldName, _ value: RecordValue) {
        places?[name] = list.count
        list.append((name, value))
        if list.count == 16 {
            places = Dictionary(uniqueKeysWithValues: list.enumerated().map { ($1.name, $0) })
        }
    }

    private func place(of name: FieldName) -> Int? {
        if let places { return places[name] }
        return list.firstIndex { $0.name == name }
    }
}

extension RecordValue {
    /// The value as an endpoint means it.
    ///
    /// Where integers are numbers, a field that is saved as `1` first takes `1.5` later. An integer that no double holds
    /// stays one, so that no digit is lost.
    func read(by rules: ReadingRules) -> RecordValue {
        guard rules.integersAreNumbers, case .integer(let integer) = self,
            Int64(exactly: Double(integer)) == integer
        else { return self }
        return .number(Double(integer))
    }
}

extension SavePrecondition {
    /// Reads `_if_revision`; nil for `null`.
    fileprivate init?(_ json: JSONView) throws(SkyrowError) {
        if json.isNull { return nil }
        if json.equals("new") {
            self = .isNew
        } else if json.equals("any") {
            self = .exists
        } else if let revision = json.wholeNumber {
            self = .revision(revision)
        } else {
            throw .invalidArgument("_if_revision must be a revision number, \"new\" or \"any\".", "_if_revision")
        }
    }
}

extension JSONWriter {
    /// A record to be saved, as `record:save` takes it.
    package func draft(_ draft: RecordDraft) {
        beginObject()
        member("_id", draft.id.description)
        switch draft.precondition {
        case .isNew: member("_if_revision", "new")
        case .exists: member("_if_revision", "any")
        case .revision(let revision): member("_if_revision", revision)
        case nil: break
        }
        if let condition = draft.condition {
            key("_if")
            predicate(condition)
        }
        setMembers(draft)
        endObject()
    }

    /// What is set in some records, as `record:update` takes it.
    func changes(_ changes: RecordChanges) {
        beginObject()
        setMembers(changes.draft)
        endObject()
    }

    private func setMembers(_ draft: RecordDraft) {
        if let access = draft.access {
            key("_access")
            accessList(access)
        }
        for (name, value) in draft.fields {
            key(name.rawValue)
            self.value(value)
        }
        for (name, change) in draft.operators {
            key(name.rawValue)
            fieldOperator(change)
        }
    }
}
