/// The type of the elements of an array.
public enum ElementType: Hashable, Sendable {
    case string
    case integer
    case number
    case boolean
    /// The stored id of a record of this type; without a foreign key, so the record may not exist.
    case reference(RecordTypeName)

    /// The type of a field that holds one such element.
    public var fieldType: FieldType {
        switch self {
        case .string: .string
        case .integer: .integer
        case .number: .number
        case .boolean: .boolean
        case .reference(let target): .reference(target)
        }
    }

    /// nil for a type without arrays.
    public init?(_ type: FieldType) {
        switch type {
        case .string: self = .string
        case .integer: self = .integer
        case .number: self = .number
        case .boolean: self = .boolean
        case .reference(let target): self = .reference(target)
        default: return nil
        }
    }

    /// Upper bound on the elements of an array field.
    package static let maximumCount = 10_000
}
