package import SkyrowModel

/// A sink that builds a `Record`, for rules, hooks and errors.
package struct RecordCollector: RecordSink {
    /// The last collected record; nil until it is complete, or if it had no id.
    package private(set) var record: Record?
    /// The records being collected, the innermost last.
    private var open: [Draft] = []

    private struct Draft {
        var record: Record?
        var numbers: [String: Double] = [:]
        var transients: [String: Record?] = [:]
        var lists: [String: RecordList] = [:]
        /// The list being collected.
        var list: RecordList?
        /// The name of the next included record.
        var name: String?
    }

    package init() {}

    package mutating func beginRecord() {
        open.append(Draft())
    }

    package mutating func member(_ key: BorrowedKey, _ value: BorrowedValue) {
        guard let last = open.indices.last else { return }
        if case .recordID(let type, let id) = value, key.name == "_id" {
            open[last].record = RecordID(type: type, id: id).map { Record(id: $0) }
            return
        }
        open[last].record?.set(key.name, to: value)
    }

    package mutating func beginTransients() {}

    package mutating func transient(_ name: String) {
        guard let last = open.indices.last else { return }
        open[last].name = name
    }

    package mutating func transientNumber(_ number: Double) {
        guard let last = open.indices.last, let name = open[last].name else { return }
        open[last].numbers[name] = number
        open[last].name = nil
    }

    package mutating func missingTransient() {
        attach(nil)
    }

    package mutating func beginList(count: Int?) {
        guard let last = open.indices.last else { return }
        open[last].list = RecordList([], count: count)
    }

    package mutating func endList() {
        guard let last = open.indices.last, let name = open[last].name else { return }
        open[last].lists[name] = open[last].list
        open[last].list = nil
        open[last].name = nil
    }

    package mutating func endTransients() {}

    package mutating func endRecord() {
        guard let draft = open.popLast() else { return }
        var finished = draft.record
        finished?.transient = draft.transients
        finished?.computed = draft.numbers
        finished?.lists = draft.lists
        if open.isEmpty {
            record = finished
        } else {
            attach(finished)
        }
    }

    private mutating func attach(_ included: Record?) {
        guard let last = open.indices.last, let name = open[last].name else { return }
        guard open[last].list == nil else {
            if let included { open[last].list?.records.append(included) }
            return
        }
        open[last].transients.updateValue(included, forKey: name)
        open[last].name = nil
    }
}

extension RecordSource {
    /// The record as a value; nil when it has no id.
    package func collected() -> Record? {
        var collector = RecordCollector()
        emit(into: &collector)
        return collector.record
    }
}

extension Record {
    fileprivate mutating func set(_ name: String, to value: BorrowedValue) {
        switch (ReservedColumn(member: name), value) {
        case (.access, .json(let text)): access = AccessList(emittedJSON: text)
        case (.owner, .string(let bytes)): owner = UserID(String(decoding: bytes, as: UTF8.self))
        case (.createdAt, .plainDatetime(let instant)): createdAt = instant
        case (.createdBy, .string(let bytes)): createdBy = UserID(String(decoding: bytes, as: UTF8.self))
        case (.updatedAt, .plainDatetime(let instant)): updatedAt = instant
        case (.updatedBy, .string(let bytes)): updatedBy = UserID(String(decoding: bytes, as: UTF8.self))
        case (.revision, .integer(let number)): revision = number
        default:
            // Reserved names begin with an underscore, so they are not valid field names.
            guard let field = try? FieldName(name), let value = RecordValue(value) else { return }
            fields[field] = value
        }
    }
}

extension RecordSource {
    /// The fields with values that clients do not see: values of another type, or multidimensional arrays.
    package var unreadableFields: Set<FieldName> {
        var collector = UnreadableFieldCollector()
        emit(into: &collector)
        return collector.fields
    }
}

private struct UnreadableFieldCollector: RecordSink {
    var fields: Set<FieldName> = []

    mutating func member(_ key: BorrowedKey, _ value: BorrowedValue) {
        guard case .unknown = value, let field = try? FieldName(key.name) else { return }
        fields.insert(field)
    }

    mutating func beginRecord() {}
    mutating func endRecord() {}
}
