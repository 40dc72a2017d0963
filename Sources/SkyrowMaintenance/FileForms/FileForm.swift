package import SkyrowModel

/// The form of a field type's values in files: as the text of a CSV field, and as JSON of another type.
///
/// Each type has its own file beside this one.
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
        case .array(let element): ArrayForm(element: element)
        // A relation is an array of references to its members.
        case .relation(let target): ArrayForm(element: .reference(target))
        case .unknown: nil
        }
    }

    /// The types that texts may suggest, in order of precedence.
    static let suggestible: [FieldType] = [.integer, .number, .boolean, .datetime, .json, .location]

    /// Returns whether a text is a value of this type or a string, and nothing else.
    func isSuggested(by text: String) -> Bool {
        form?.suggests(text) ?? false
    }

    /// Parses a text for a column of this type, or throws the reason for failure.
    package func value(inText text: String) throws(FieldFault) -> RecordValue {
        guard let form else { throw FieldFault("is for a column with an SQL type that Skyrow cannot write") }
        return try form.value(inText: text)
    }

    /// Converts a JSON value other than null for a column of this type, or throws the reason for failure.
    func value(_ value: RecordValue) throws(FieldFault) -> RecordValue {
        if value.fieldType == self { return value }
        guard let value = try form?.value(of: value) else {
            throw FieldFault("does not have the field's type, \(name)")
        }
        return value
    }
}

/// Parses the text of CSV fields. Each type's file adds its functions.
enum CSVText {}

/// Why a value does not fit a field: a clause that follows the field's name.
package struct FieldFault: Error, Hashable, Sendable {
    var reason: String

    init(_ reason: String) {
        self.reason = reason
    }
}
