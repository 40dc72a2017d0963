import SkyrowJSON
import SkyrowModel

extension Codec where Value: CaseIterable & RawRepresentable & Sendable, Value.RawValue == String {
    /// One of the names of an enumeration.
    package static var oneOf: Codec {
        let names = Value.allCases.map(\.rawValue)
        return Codec(.oneOfStrings(names)) { json, name throws(SkyrowError) in
            guard let text = json.string else { throw .wrongType(name, "a string") }
            guard let value = Value(rawValue: text) else {
                throw .invalidArgument("\"\(name)\" must be one of \(names.joined(separator: ", ")).", name)
            }
            return value
        } write: { value, writer in
            writer.string(value.rawValue)
        }
    }
}
