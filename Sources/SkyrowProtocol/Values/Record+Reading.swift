package import SkyrowJSON
package import SkyrowModel

extension Record {
    /// Reads a record in the v1 form as a server sends it.
    ///
    /// Values of a type that this version does not define are left out, so that a server may be newer than its client.
    /// Throws `108 InvalidArgument` if the id is missing or a reserved member has a wrong form.
    ///
    /// - Parameter included: the records whose ids `_transient` contains.
    package init(_ json: JSONView, included: [RecordID: Record] = [:]) throws(SkyrowError) {
        guard let id = json["_id"]?.string else { throw .invalidArgument("A record must have the member _id.", "_id") }
        self.init(id: try RecordID(readable: id))
        for (name, value) in json.uniqueMembers {
            switch ReservedColumn(member: name) {
            case .access: access = try AccessList(value)
            case .owner: owner = value.string.map { UserID($0) }
            case .createdAt: createdAt = try Timestamp(json: value)
            case .createdBy: createdBy = value.string.map { UserID($0) }
            case .updatedAt: updatedAt = try Timestamp(json: value)
            case .updatedBy: updatedBy = value.string.map { UserID($0) }
            case .revision: revision = value.wholeNumber
            case .id, .database: break
            case nil where name == "_transient":
                try readTransients(value, included)
                computed = Record.numbers(value)
            case nil:
                guard let name = try? FieldName(name), !value.isNull else { continue }
                fields[name] = try? RecordValue(value, field: name.rawValue)
            }
        }
    }

    private mutating func readTransients(_ json: JSONView, _ included: [RecordID: Record]) throws(SkyrowError) {
        for (name, value) in json.uniqueMembers where value.number == nil {
            if let records = value.isArray ? value : value["records"], value["_id"] == nil {
                lists[name] = RecordList(
                    try Record.all(in: records, included),
                    count: value["count"]?.wholeNumber.flatMap { Int(exactly: $0) }
                )
            } else {
                // `updateValue`, because assigning nil through the subscript would take the name out.
                transient.updateValue(try Record.one(value, included), forKey: name)
            }
        }
    }

    private static func all(in json: JSONView, _ included: [RecordID: Record]) throws(SkyrowError) -> [Record] {
        var records: [Record] = []
        records.reserveCapacity(json.count)
        for element in json.elements {
            if let record = try one(element, included) { records.append(record) }
        }
        return records
    }

    /// A record, or one that stands elsewhere by its id; nil for anything else.
    private static func one(_ json: JSONView, _ included: [RecordID: Record]) throws(SkyrowError) -> Record? {
        if let id = json.string { return included[try RecordID(id)] }
        return json["_id"] == nil ? nil : try Record(json)
    }

    /// The numbers among what is included.
    private static func numbers(_ json: JSONView) -> [String: Double] {
        var numbers: [String: Double] = [:]
        for (name, value) in json.uniqueMembers {
            switch value.number {
            case .integer(let number): numbers[name] = Double(number)
            case .double(let number): numbers[name] = number
            case .outOfRange, nil: break
            }
        }
        return numbers
    }
}

extension Timestamp {
    /// nil for what is no string.
    fileprivate init?(json: JSONView) throws(SkyrowError) {
        guard let text = json.string else { return nil }
        try self.init(rfc3339: text)
    }
}

extension SkyrowError {
    /// Reads the v1 form, also as the members of a failed entry; what is missing becomes `10000 UnexpectedError`.
    package init(_ json: JSONView) {
        self.init(
            ErrorCode(
                rawValue: json["code"]?.wholeNumber.flatMap { Int(exactly: $0) } ?? ErrorCode.unexpectedError.rawValue
            ),
            json["message"]?.string ?? "",
            info: SkyrowError.info(json["info"])
        )
    }

    /// Reads the error of a JSON-RPC response.
    package init(rpc json: JSONView) {
        self.init(json)
        info = SkyrowError.info(json["data"]?["info"])
    }

    private static func info(_ json: JSONView?) -> [String: ErrorInfo] {
        var info: [String: ErrorInfo] = [:]
        for (name, value) in json?.uniqueMembers ?? [] { info[name] = ErrorInfo(value) }
        return info
    }
}

extension ErrorInfo {
    /// Reads a member of `info`; nil for what this version has no case for.
    fileprivate init?(_ json: JSONView) {
        switch json.kind {
        case .null: return nil
        case .true: self = .boolean(true)
        case .false: self = .boolean(false)
        case .string, .escapedString: self = .string(json.string ?? "")
        case .integer, .number:
            guard let value = json.wholeNumber else { return nil }
            self = .integer(value)
        case .array: self = .list(json.elements.compactMap { ErrorInfo($0) })
        case .object:
            if json["code"] != nil, json["name"] != nil {
                self = .error(SkyrowError(json))
            } else if let record = try? Record(json) {
                self = .record(record)
            } else {
                return nil
            }
        }
    }
}
