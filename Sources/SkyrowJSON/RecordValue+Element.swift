package import SkyrowModel

extension RecordValue {
    /// Creates an element of an array from JSON; nil for a value that no array column can have.
    package init?(element json: JSONView) {
        switch json.kind {
        case .null: self = .null
        case .true: self = .boolean(true)
        case .false: self = .boolean(false)
        case .string, .escapedString: self = .string(json.string ?? "")
        case .integer, .number:
            switch json.number {
            case .integer(let value): self = .integer(value)
            case .double(let value): self = .number(value)
            case .outOfRange, nil: return nil
            }
        case .object:
            guard json["$type"]?.equals("ref") ?? false, let id = RecordID(reference: json) else { return nil }
            self = .reference(id)
        case .array: return nil
        }
    }
}

extension RecordID {
    /// Creates the id in a reference in JSON, in either of its forms.
    fileprivate init?(reference json: JSONView) {
        if let type = json["$recordType"]?.string, let id = json["$recordID"]?.string {
            guard let type = try? RecordTypeName(type) else { return nil }
            try? self.init(type: type, id: id)
        } else {
            try? self.init(json["$id"]?.string ?? "")
        }
    }
}
