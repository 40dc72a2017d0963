public import Foundation
import SkyrowJSON
public import SkyrowModel
import SkyrowProtocol

extension JSONText {
    /// Parses an array or object in JSON by RFC 8259; throws `108 InvalidArgument` when the data is neither.
    public init(_ data: Data) throws(SkyrowError) {
        let document: JSONDocument
        do throws(JSONParseError) {
            document = try JSONDocument(Array(data))
        } catch {
            throw .invalidArgument("\(error.description).")
        }
        self = try document.withRoot { root throws(SkyrowError) in
            guard root.isArray || root.isObject else {
                throw .invalidArgument("A JSON value must be an array or object.")
            }
            return root.jsonText
        }
    }
}
