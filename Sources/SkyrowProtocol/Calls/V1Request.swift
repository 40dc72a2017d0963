package import SkyrowJSON
package import SkyrowModel

/// The body of a call in the Skygear v1 envelope: action, credentials and parameters side by side in one object.
package struct V1Request {
    /// `action`, which counts when the path names none.
    package let action: String?
    package let credentials: Credentials
    package let parameters: JSONView

    /// Throws `107 BadRequest` for a body that is not an object, or whose `action` or credentials have a wrong type.
    package init(_ json: JSONView) throws(SkyrowError) {
        guard json.isObject else { throw SkyrowError(.badRequest, "The body of a request must be a JSON object.") }
        action = try Parameters(json).string("action")
        credentials = try Credentials(parameters: json)
        parameters = json
    }
}
