package import SkyrowModel

/// How the values of one field type stand in files: as the text of a CSV field, and as JSON of another type.
///
/// Each type is one file beside this one.
protocol FileForm: Sendable {
    /// Reads the text of a CSV field for a column of the type; throws why it cannot.
    func value(inText text: String) throws(FieldFault) -> RecordValue
    /// Whether a text can be nothing but a value of this type, or a string: a new field may get the type for it.
    ///
    /// Only spellings that name one value of one type count: `007` and `+1` stay text, since a number would not give
    /// them back.
    func suggests(_ text: String) -> Bool
    /// The value of a JSON value of another type; nil when it is none.
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
        // The references of its members.
        case .relation(let target): ArrayForm(element: .reference(target))
        case .unknown: nil
        }
    }

    /// The types that texts may suggest, those that decide first before the others.
    static let suggestible: [FieldType] = [.integer, .number, .boolean, .datetime, .json, .location]

    /// Whether a text can be nothing but a value of this type, or a string.
    func isSuggested(by text: String) -> Bool {
        form?.suggests(text) ?? false
    }

    /// Reads a text for a column of this type; throws why it cannot.
    package func value(inText text: String) throws(FieldFault) -> RecordValue {
        guard let form else { throw FieldFault("goes to a column whose SQL type Skyrow does not write") }
        return try form.value(inText: text)
    }

    /// Takes a JSON value, which is not null, for a column of this type; throws why it cannot.
    func value(_ value: RecordValue) throws(FieldFault) -> RecordValue {
        if value.fieldType == self { return value }
        guard let value = try form?.value(of: value) else { throw FieldFault("is not of the field's type, \(name)") }
        return value
    }
}

/// What the text of a CSV field means; each type's file has its part.
enum CSVText {}

/// Why a value does not fit a field; a clause that follows the field's name.
package struct FieldFault: Error, Hashable, Sendable {
    var reason: String

    init(_ reason: String) {
        self.reason = reason
    }
}
