import Foundation

/// A JSON value as Foundation reads it, so that our own codec is not its own witness.
enum JSONValue: Equatable {
    case null
    case boolean(Bool)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    init(_ text: String) throws {
        self.init(try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed))
    }

    private init(_ value: Any) {
        switch value {
        case let object as [String: Any]: self = .object(object.mapValues { JSONValue($0) })
        case let array as [Any]: self = .array(array.map { JSONValue($0) })
        case let string as String: self = .string(string)
        case let number as NSNumber:
            // The Objective-C type of a boolean is a character.
            self = String(cString: number.objCType) == "c" ? .boolean(number.boolValue) : .number(number.doubleValue)
        default: self = .null
        }
    }

    /// A member of an object, null when there is none.
    subscript(_ name: String) -> JSONValue {
        guard case .object(let members) = self else { return .null }
        return members[name] ?? .null
    }

    /// An element of an array, null when there is none.
    subscript(_ index: Int) -> JSONValue {
        guard case .array(let elements) = self, elements.indices.contains(index) else { return .null }
        return elements[index]
    }

    var string: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    var integer: Int? {
        guard case .number(let number) = self else { return nil }
        return Int(exactly: number)
    }

    var number: Double? {
        guard case .number(let number) = self else { return nil }
        return number
    }

    var elements: [JSONValue] {
        guard case .array(let elements) = self else { return [] }
        return elements
    }

    var members: [String: JSONValue] {
        guard case .object(let members) = self else { return [:] }
        return members
    }
}
