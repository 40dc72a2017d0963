internal import SkyrowModel

extension SkyrowError {
    static func recordQueryInvalid(_ message: String, _ path: KeyPath) -> SkyrowError {
        SkyrowError(.recordQueryInvalid, message, info: ["arguments": .list([.string(path.description)])])
    }

    /// `124` for a field that the caller does not see; `name` is a field or a key path.
    static func recordQueryDenied(_ name: String) -> SkyrowError {
        SkyrowError(.recordQueryDenied, "You may not query this field.", info: ["arguments": .list([.string(name)])])
    }

    static let noKeyPath = """
        One side of a comparison must be a key path, {"$type": "keypath", "$val": "content"}; a plain string is a value.
        """

    static func predicateInvalid(_ message: String, _ path: KeyPath? = nil) -> SkyrowError {
        SkyrowError(
            .invalidArgument,
            message,
            info: ["arguments": .list(([.string("predicate")] + (path.map { [.string($0.description)] } ?? [])))]
        )
    }

    /// `108` for a literal of another type than the field.
    static func literalInvalid(_ expected: String, _ path: KeyPath) -> SkyrowError {
        .predicateInvalid("This field can only be compared with \(expected).", path)
    }
}
