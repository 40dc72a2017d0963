import SkyrowJSON
import SkyrowModel

extension Codec {
    /// A value whose text follows a rule.
    ///
    /// - Parameters:
    ///   - maximum: the length of the longest text; nil for any length.
    ///   - parse: throws `108 InvalidArgument` for a text that breaks the rule.
    static func parsed(
        maximum: Int? = nil,
        _ parse: @escaping @Sendable (String, _ name: String) throws(SkyrowError) -> Value,
        writing text: @escaping @Sendable (Value) -> String
    ) -> Codec {
        Codec(.string(maximum: maximum)) { json, name throws(SkyrowError) in
            guard let text = json.string else { throw .wrongType(name, "a string") }
            return try parse(text, name)
        } write: { value, writer in
            writer.string(text(value))
        }
    }
}
