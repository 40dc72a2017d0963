package import SkyrowModel

/// Whether a field of some type can take a value.
package enum FieldAdmission: Hashable, Sendable {
    case fits
    /// It would if the field, which holds integers, held numbers.
    case fitsWidened
    case conflicts
}

extension FieldType {
    /// The type of a new field that first meets this value; nil for `null`, which has no type.
    package init?(holding value: RecordValue) {
        switch value {
        case .null: return nil
        case .string: self = .string
        case .integer: self = .integer
        case .number: self = .number
        case .boolean: self = .boolean
        case .datetime: self = .datetime
        case .json: self = .json
        case .reference(let id): self = .reference(id.type)
        case .sequence: self = .sequence
        case .bytes: self = .bytes
        }
    }

    /// Whether a column of this type takes a value as it is; integers, whole numbers and sequences mix, nothing else.
    package func admission(of value: RecordValue) -> FieldAdmission {
        switch (self, value) {
        case (_, .null):
            .fits
        case (.string, .string), (.boolean, .boolean), (.datetime, .datetime), (.json, .json), (.bytes, .bytes):
            .fits
        case (.integer, .integer), (.integer, .sequence), (.sequence, .integer), (.sequence, .sequence),
            (.number, .number), (.number, .integer), (.number, .sequence):
            .fits
        case (.integer, .number(let number)):
            Int64(exactly: number) == nil ? .fitsWidened : .fits
        case (.sequence, .number(let number)):
            Int64(exactly: number) == nil ? .conflicts : .fits
        case (.reference(let type), .reference(let id)):
            type == id.type ? .fits : .conflicts
        case (.string, _), (.integer, _), (.number, _), (.boolean, _), (.datetime, _), (.json, _), (.reference, _),
            (.sequence, _), (.bytes, _), (.unknown, _):
            .conflicts
        }
    }

    /// The type that holds what both hold, nil when there is none: two records of one request may name a new field
    /// with an integer and a fraction.
    func joined(with other: FieldType) -> FieldType? {
        switch (self, other) {
        case (let one, let other) where one == other: one
        case (.integer, .number), (.number, .integer): .number
        case (.integer, .sequence), (.sequence, .integer): .sequence
        case (.string, _), (.integer, _), (.number, _), (.boolean, _), (.datetime, _), (.json, _), (.reference, _),
            (.sequence, _), (.bytes, _), (.unknown, _):
            nil
        }
    }
}
