import SkyrowModel

// The declarations of `connection:*` and `live:ticket`.

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

    static let liveTicket = ActionDescription(
        .liveTicket,
        "Returns a token that opens one event stream at GET /live, within a minute, where headers cannot be set.",
        requirement: .keyOrToken,
        result: .object([
            JSONMember("token", .string(), isRequired: true),
            JSONMember("expires_at", .dateTime, isRequired: true),
        ]),
        errors: [.notSupported],
        cost: .write,
        effect: .once
    )
}
