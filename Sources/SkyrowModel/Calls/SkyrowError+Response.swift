extension SkyrowError {
    /// `132`: the results of a request exceed the limit of one response.
    package static let responseTooLarge = SkyrowError(
        .payloadTooLarge,
        "The result is too large for one response; request less at once."
    )

    /// `135`: the memory for results is exhausted.
    package static let noResponseMemory = SkyrowError(
        .overloaded,
        "Too many large results are being built or are unread; read your pending responses, or try again in a moment."
    )

    package init(_ refusal: ResponseAccount.Refusal) {
        switch refusal {
        case .tooLarge: self = .responseTooLarge
        case .noMemory: self = .noResponseMemory
        }
    }
}
