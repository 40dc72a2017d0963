import SkyrowModel
import SkyrowProtocol

/// Infers the type of a new field from all of its values.
///
/// CSV text is a string unless every value parses as one other type. JSON values are typed: the first one decides, and
/// integers among numbers are numbers.
struct TypeInference: Hashable, Sendable {
    private(set) var valueCount = 0
    private var textCandidates = FieldType.suggestible
    /// Integers that a `double precision` cannot represent exactly.
    private var hasLongInteger = false
    private var jsonType: FieldType?

    /// Takes a nonempty text of a CSV field.
    mutating func observe(text: String) {
        valueCount += 1
        if textCandidates.isEmpty { return }
        textCandidates.removeAll { !$0.isSuggested(by: text) }
        if textCandidates.contains(.number), CSVText.isWhole(text), (Int64(text)?.magnitude ?? .max) > 1 << 53 {
            hasLongInteger = true
        }
    }

    /// Takes a JSON value other than null.
    mutating func observe(_ value: RecordValue) {
        guard let type = value.fieldType else { return }
        valueCount += 1
        if jsonType == nil || jsonType == .integer && type == .number { jsonType = type }
    }

    /// Takes a reference to a record of this type.
    mutating func observe(referenceTo type: RecordTypeName) {
        valueCount += 1
        jsonType = jsonType ?? .reference(type)
    }

    /// The type; nil without any value.
    var type: FieldType? {
        if valueCount == 0 { return nil }
        if let jsonType { return jsonType }
        return textCandidates.first { $0 != .number || !hasLongInteger } ?? .string
    }
}
