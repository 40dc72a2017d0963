import SkyrowModel

// The declarations of `connection:*`.

extension ActionCatalog {
    static let connectionAuthenticate = ActionDescription(
        .connectionAuthenticate,
        "Says on a WebSocket who calls from here on; it may be called again, for another session or a new token.",
        requirement: .keyOrToken,
        parameters: [
            ActionParameter("api_key", "An API key.", .nullable(.string())),
            ActionParameter("access_token", "An access token.", .nullable(.string())),
        ],
        result: .named(.status),
        errors: [.notSupported, .userDisabled],
        cost: .read,
        effect: .reads
    )
}
