import Foundation

/// JSON as a value, read by Foundation so that the comparison owes nothing to the service's own codec.
enum ProtocolJSON: Hashable, Decodable {
    case null
    case boolean(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([ProtocolJSON])
    case object([String: ProtocolJSON])

    init(_ text: String) throws {
        self = try JSONDecoder().decode(ProtocolJSON.self, from: Data(text.utf8))
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .boolean(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([ProtocolJSON].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: ProtocolJSON].self))
        }
    }

    /// The value as JSON text, to be put into a request.
    var text: String {
        switch self {
        case .null: "null"
        case .boolean(let value): "\(value)"
        case .integer(let value): "\(value)"
        case .number(let value): "\(value)"
        case .string(let value): "\"" + value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
        case .array(let values): "[" + values.map(\.text).joined(separator: ",") + "]"
        case .object(let members):
            "{" + members.map { ProtocolJSON.string($0.key).text + ":" + $0.value.text }.joined(separator: ",") + "}"
        }
    }

    subscript(_ name: String) -> ProtocolJSON? {
        if case .object(let members) = self { members[name] } else { nil }
    }
}
