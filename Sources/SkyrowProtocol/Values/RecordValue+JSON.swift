package import SkyrowJSON
package import SkyrowModel

extension RecordValue {
    /// Reads the value of a field (skygear.md 3.2); nil for `{"$type":"unknown"}`, which is ignored on input.
    ///
    /// Throws `108 InvalidArgument` about the field for what no field can hold.
    package init?(_ json: JSONView, field: @autoclosure () -> String) throws(SkyrowError) {
        switch json.kind {
        case .null: self = .null
        case .true: self = .boolean(true)
        case .false: self = .boolean(false)
        case .string, .escapedString: self = .string(try json.storableText(field()))
        case .integer, .number: self = try RecordValue(number: json, field: field())
        case .array: self = .json(try json.storableJSON(field()))
        case .object:
            if let type = json["$type"] {
                guard let value = try RecordValue(typed: json, type: type, field: field()) else { return nil }
                self = value
            } else if json["$op"] != nil {
                throw .invalidArgument("Operators can only be used in fields of record:save.", field())
            } else {
                self = .json(try json.storableJSON(field()))
            }
        }
    }

    private init(number json: JSONView, field: @autoclosure () -> String) throws(SkyrowError) {
        switch json.number {
        case .integer(let value): self = .integer(value)
        case .double(let value): self = .number(value)
        case .outOfRange, nil: throw .invalidArgument("A number does not fit into 64 bits.", field())
        }
    }
}

extension JSONView {
    /// The text of a string, which PostgreSQL can store unless it holds NUL.
    fileprivate func storableText(_ field: @autoclosure () -> String) throws(SkyrowError) -> String {
        let text = string ?? ""
        if kind == .escapedString, text.hasNUL {
            throw .invalidArgument("Text cannot contain the character NUL (U+0000).", field())
        }
        return text
    }

    /// An array or object as it was sent, unless PostgreSQL's `jsonb` could not hold it.
    func storableJSON(_ field: @autoclosure () -> String) throws(SkyrowError) -> JSONText {
        try requireStorable(field())
        return JSONText(validated: Array(source), temporaryReferences: temporaryReferences)
    }

    /// Throws `108 InvalidArgument` for a value that PostgreSQL's `jsonb` could not hold.
    func requireStorable(_ field: @autoclosure () -> String) throws(SkyrowError) {
        try requireStorablePart(field())
        for part in descendants { try part.requireStorablePart(field()) }
    }

    private func requireStorablePart(_ field: @autoclosure () -> String) throws(SkyrowError) {
        switch kind {
        case .escapedString:
            _ = try storableText(field())
        case .integer, .number:
            guard plainLength <= WireLimits.numberLength else {
                throw .invalidArgument(
                    "A number in the value has more than \(WireLimits.numberLength) characters when written out.",
                    field()
                )
            }
            // A column of jsonb keeps 1e-16000 as a numeral of 16,000 digits, so what no double holds is refused.
            if kind == .number, number == .outOfRange || isTiny {
                throw .invalidArgument("A number in the value is out of range for a double.", field())
            }
        case .null, .false, .true, .string, .array, .object:
            break
        }
    }

    /// The references inside, `{"$type":"ref","$id":"post/$1"}` or in the newer form, whose ids are temporary.
    var temporaryReferences: [JSONText.TemporaryReference] {
        // Few values have typed values inside.
        guard source.contains(UInt8(ascii: "$")), let start = source.baseAddress else { return [] }
        var references: [JSONText.TemporaryReference] = []
        func add(_ id: JSONView, _ target: RecordID?, hasType: Bool) {
            guard let target, target.isTemporary, let first = id.slice.baseAddress else { return }
            let offset = UnsafeRawPointer(first) - start
            references.append(
                JSONText.TemporaryReference(range: offset..<offset + id.slice.count, target: target, hasType: hasType)
            )
        }
        func look(at part: JSONView) {
            guard part.isObject, part["$type"]?.equals("ref") ?? false else { return }
            if let id = part["$id"], let text = id.string { add(id, try? RecordID(text), hasType: true) }
            if let id = part["$recordID"], let text = id.string, let type = part["$recordType"]?.string {
                add(id, (try? RecordTypeName(type)).flatMap { try? RecordID(type: $0, id: text) }, hasType: false)
            }
        }
        look(at: self)
        for part in descendants { look(at: part) }
        return references.sorted { $0.range.lowerBound < $1.range.lowerBound }
    }
}

/// The beginning of a text that an error message repeats.
func excerpt(of text: String) -> String {
    text.count <= 40 ? text : text.prefix(40) + "…"
}

extension JSONWriter {
    /// A value in the form in which a record has it.
    package func value(_ value: RecordValue) {
        switch value {
        case .null: null()
        case .sequence:
            separate()
            append("{\"$type\":\"seq\"}")
        default: value.withBorrowed { self.value($0) }
        }
    }
}
