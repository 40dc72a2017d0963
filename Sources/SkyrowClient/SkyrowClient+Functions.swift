import SkyrowJSON
public import SkyrowModel
public import SkyrowProtocol

extension SkyrowClient {
    /// Calls a function of the application, and returns its result.
    ///
    /// ```swift
    /// let best = try await client.call("score/best", JSONText(Data(#"{"game": "chess"}"#.utf8)))
    /// ```
    ///
    /// - Parameters:
    ///   - function: the name of the function.
    ///   - arguments: an object of named arguments or an array of arguments; nil for none.
    ///   - idempotencyKey: makes the call safe to repeat: for 24 hours, a call with the same key returns the first result.
    @discardableResult
    public func call(
        _ function: String,
        _ arguments: JSONText? = nil,
        idempotencyKey: String? = nil
    ) async throws(ClientError) -> JSONText {
        try await call(
            Actions.functionCall.description,
            repeatability: idempotencyKey == nil ? nil : .safe,
            parameters: { writer in
                writer.beginObject()
                writer.member("name", function)
                if let arguments {
                    writer.key("args")
                    writer.json(arguments)
                }
                if let idempotencyKey { writer.member("idempotency_key", idempotencyKey) }
                writer.endObject()
            },
            read: { json throws(SkyrowError) in json.jsonText }
        )
    }

    /// Returns what function servers have registered, and their states; requires the master key.
    public func functions() async throws(ClientError) -> FunctionList {
        try await call(Actions.functionList, ())
    }
}
