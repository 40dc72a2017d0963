public import Foundation
import SkyrowJSON
public import SkyrowModel
import SkyrowWire

extension JSONText {
    /// Takes an array or object in JSON, checked against RFC 8259; throws `108 InvalidArgument` when it is none.
    public init(_ data: Data) throws(SkyrowError) {
        let document: JSONDocument
        do throws(JSONParseError) {
            document = try JSONDocument(Array(data))
        } catch {
            throw .invalidArgument("\(error.description).")
        }
        self = try document.withRoot { root throws(SkyrowError) in
            guard root.isArray || root.isObject else { throw .invalidArgument("A json value is an array or object.") }
            return root.jsonText
        }
    }
}
