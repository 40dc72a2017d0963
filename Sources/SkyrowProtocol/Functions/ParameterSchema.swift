package import SkyrowJSON
package import SkyrowModel

/// The rules of a function's arguments: a part of JSON Schema.
package struct ParameterSchema: Hashable, Sendable {
    /// The schema as it was sent.
    package let text: JSONText

    /// Throws what is wrong with the schema.
    package init(_ json: JSONView) throws(RegistrationFault) {
        text = json.jsonText
    }

    /// Throws `108 InvalidArgument`, with the paths of what is wrong in `info.arguments`.
    package func check(_ arguments: JSONView?) throws(SkyrowError) {
        fatalError("contract")
    }
}
