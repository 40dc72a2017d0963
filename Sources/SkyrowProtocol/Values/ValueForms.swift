package import SkyrowJSON
package import SkyrowModel

// The forms of values in JSON and CSV: a new type adds a line to each list, and has its forms in a file of `Types`.

extension RecordValue {
    /// Reads an object with `$type`; nil for an unknown value, which is ignored on input.
    init?(typed json: JSONView, type: JSONView, field: @autoclosure () -> String) throws(SkyrowError) {
        switch type.string {
        case "date": try self.init(date: json, field: field())
        case "ref": try self.init(reference: json, field: field())
        case "seq": self = .sequence
        case "bytes": try self.init(bytes: json, field: field())
        case "geo": try self.init(location: json, field: field())
        case "geojson": try self.init(geometry: json, field: field())
        case "relation": try self.init(relation: json, field: field())
        case "asset": try self.init(asset: json, field: field())
        case "unknown": return nil
        case let other:
            throw .invalidArgument(
                other.map { "The value type \"\(excerpt(of: $0))\" does not exist." }
                    ?? "The member $type must be a string.",
                field()
            )
        }
    }
}

extension JSONWriter {
    /// A value in the form in which a record has it; those with `$type` are in the files of their types.
    @inline(__always)
    func value(_ value: BorrowedValue) {
        switch value {
        case .null: null()
        case .boolean(let value): boolean(value)
        case .integer(let value): integer(value)
        case .number(let value): columnNumber(value)
        case .string(let utf8): string(utf8: utf8)
        case .datetime(let value): date(value)
        case .plainDatetime(let value): timestamp(value)
        case .json(let text): json(validated: text)
        case .recordID(let type, let id): recordID(type, id)
        case .reference(let type, let id): reference(type, id)
        case .bytes(let value): bytes(value)
        case .location(let value): location(value)
        case .geometry(let ewkb): geometry(ewkb: ewkb)
        case .asset(let name): asset(name)
        case .array(let elements): array(elements)
        case .relation(let type): relation(type)
        case .unknown(let type): unknown(type)
        }
    }
}

extension BorrowedValue {
    /// Calls `body` with the value as a CSV field has it, and whether it is a text, which may need quotes.
    ///
    /// Ids are those of the value, and bytes are `\x` with hexadecimal digits.
    ///
    /// - Parameter scratch: an empty writer, and empty again afterwards.
    package func withText(_ scratch: JSONWriter, _ body: (UnsafeRawBufferPointer, _ isText: Bool) -> Void) {
        func written(isText: Bool = false, _ write: (JSONWriter) -> Void) {
            write(scratch)
            scratch.withUnsafeBytes { body($0, isText) }
            scratch.removeAll()
        }
        switch self {
        case .null: body(UnsafeRawBufferPointer(start: nil, count: 0), false)
        case .boolean(let flag): written { $0.boolean(flag) }
        case .integer(let number): written { $0.integer(number) }
        case .number(let number):
            if let special = CSVText.spelling(ofSpecial: number) {
                body(special, false)
            } else {
                written { $0.number(number) }
            }
        case .string(let utf8), .recordID(_, let utf8), .reference(_, let utf8), .asset(let utf8), .json(let utf8):
            body(utf8, true)
        case .datetime(let instant), .plainDatetime(let instant): instant.rfc3339.withBytes { body($0, false) }
        case .bytes(let bytes): written { $0.hexadecimal(bytes) }
        case .location(let location): location.csvText.withBytes { body($0, false) }
        case .geometry(let ewkb):
            guard let geometry = Geometry(ewkb: ewkb) else { return "geometry".withBytes { body($0, false) } }
            written(isText: true) { $0.geoJSON(geometry) }
        case .array(let elements): CSVText.array(elements).withUnsafeBytes { body($0, true) }
        case .relation(let type), .unknown(let type): body(type, false)
        }
    }
}

extension FieldType {
    private var form: (any FileForm)? {
        switch self {
        case .string: StringForm()
        case .integer: IntegerForm()
        case .number: NumberForm()
        case .boolean: BooleanForm()
        case .datetime: DatetimeForm()
        case .json: JSONForm()
        case .reference(let target): ReferenceForm(target: target)
        case .sequence: SequenceForm()
        case .bytes: BytesForm()
        case .location: LocationForm()
        case .geometry: GeometryForm()
        case .asset: AssetForm()
        case .array(let element): ArrayForm(element: element)
        // A relation is an array of references to its members.
        case .relation(let target): ArrayForm(element: .reference(target))
        case .unknown: nil
        }
    }

    /// The types that texts may suggest, in order of precedence.
    package static let suggestible: [FieldType] = [.integer, .number, .boolean, .datetime, .json, .location]

    /// Returns whether a text is a value of this type or a string, and nothing else.
    package func isSuggested(by text: String) -> Bool {
        form?.suggests(text) ?? false
    }

    /// Parses a text for a column of this type, or throws the reason for failure.
    package func value(inText text: String) throws(FieldFault) -> RecordValue {
        guard let form else { throw FieldFault("is for a column with an SQL type that Skyrow cannot write") }
        return try form.value(inText: text)
    }

    /// Converts a JSON value other than null for a column of this type, or throws the reason for failure.
    package func value(_ value: RecordValue) throws(FieldFault) -> RecordValue {
        if value.fieldType == self { return value }
        guard let value = try form?.value(of: value) else {
            throw FieldFault("does not have the field's type, \(name)")
        }
        return value
    }
}

/// The form of a field type's values in files: as the text of a CSV field, and as JSON of another type.
protocol FileForm: Sendable {
    /// Parses the text of a CSV field for a column of the type, or throws the reason for failure.
    func value(inText text: String) throws(FieldFault) -> RecordValue
    /// Returns whether a text is a value of this type or a string, and nothing else. A new field may then get this type.
    ///
    /// Only canonical spellings count: `007` and `+1` stay text, since a number would not reproduce them.
    func suggests(_ text: String) -> Bool
    /// Converts a JSON value of another type; nil if it is not a value of this type.
    func value(of other: RecordValue) throws(FieldFault) -> RecordValue?
}

extension FileForm {
    func suggests(_ text: String) -> Bool { false }
    func value(of other: RecordValue) throws(FieldFault) -> RecordValue? { nil }
}

/// The form of texts, which are taken as they are.
private struct StringForm: FileForm {
    func value(inText text: String) -> RecordValue { .string(text) }
}

/// Parses the text of CSV fields. Each type's file adds its functions.
package enum CSVText {}

/// Why a value does not fit a field: a clause that follows the field's name.
package struct FieldFault: Error, Hashable, Sendable {
    package var reason: String

    package init(_ reason: String) {
        self.reason = reason
    }
}
