package import SkyrowModel

extension Codec<AccountSession> {
    package static let accountSession = object(
        Form(
            { id, device, address, agent, created, used, expires, origin, level, isCurrent in
                AccountSession(
                    id: id,
                    device: device,
                    address: address,
                    userAgent: agent,
                    createdAt: created,
                    lastUsedAt: used,
                    expiresAt: expires,
                    createdWith: origin,
                    level: level,
                    isCurrent: isCurrent
                )
            },
            Member("id", \.id, .string(1...36)),
            Member(\.device, members: SessionDevice.form),
            Member(ifAny: "address", \.address, .string, "The address of the request that opened the session."),
            Member(
                ifAny: "user_agent",
                \.userAgent,
                .string(0...SessionDevice.maximumBytes),
                "`User-Agent` of that request."
            ),
            Member("created_at", \.createdAt, .instant),
            Member("last_used_at", \.lastUsedAt, .instant, "Exact to a minute."),
            Member(ifAny: "expires_at", \.expiresAt, .instant, "Absent if sessions do not expire."),
            Member(ifAny: "created_with", \.createdWith, .string, "How the session was opened."),
            Member("level", \.level, .integer(1...2), "2 for a session with a second factor, else 1.", inOlder: 1),
            Member("current", \.isCurrent, .boolean, "Whether it is the session of the request.", inOlder: false)
        )
    )
}

extension SessionDevice {
    fileprivate static let form = Form(
        SessionDevice.init(id:name:),
        Member(ifAny: "device_id", \.id, .string(1...maximumBytes), "The application's id of the device."),
        Member(ifAny: "device_name", \.name, .string(1...maximumBytes), "The name of the device, for the user.")
    )
}

extension Codec<LiveTicket> {
    package static let liveTicket = object(
        Form(
            LiveTicket.init(token:expiresAt:),
            Member("token", \.token, .string, "`live-query-token` of the stream."),
            Member("expires_at", \.expiresAt, .instant, "When the token expires.")
        )
    )
}

extension Codec<String> {
    /// The id of a session: a UUID as PostgreSQL writes it.
    static let sessionID = text(.string(maximum: 36)) { _ in
        "The id of a session must be a UUID; session:list returns it."
    } isFit: {
        $0.isUUID
    }
}

extension String {
    fileprivate var isUUID: Bool {
        utf8.count == 36
            && zip(0..., utf8).allSatisfy { place, byte in
                switch (place, byte) {
                case (8, _), (13, _), (18, _), (23, _): byte == UInt8(ascii: "-")
                case (_, UInt8(ascii: "0")...UInt8(ascii: "9")), (_, UInt8(ascii: "a")...UInt8(ascii: "f")),
                    (_, UInt8(ascii: "A")...UInt8(ascii: "F")):
                    true
                default: false
                }
            }
    }
}
