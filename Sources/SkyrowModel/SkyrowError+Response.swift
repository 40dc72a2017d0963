extension SkyrowError {
    /// `132`: the results of a request exceed the limit of one response.
    package static let responseTooLarge = SkyrowError(
        .payloadTooLarge,
        "The result is larger than one response may be: ask for less at once."
    )

    /// `135`: the memory for results is exhausted.
    package static let noResponseMemory = SkyrowError(
        .overloaded,
        "Too many large results are being made or wait to be read: read those you asked for, or try again in a moment."
    )

    package init(_ refusal: ResponseAccount.Refusal) {
        switch refusal {
        case .tooLarge: self = .responseTooLarge
        case .noMemory: self = .noResponseMemory
        }
    }
}
