package import SkyrowJSON
package import SkyrowModel

extension SessionDevice {
    /// Reads `device_id` and `device_name`.
    init(_ parameters: Parameters) throws(SkyrowError) {
        self.init(id: try parameters.string("device_id"), name: try parameters.string("device_name"))
        guard id?.isName ?? true else { throw SessionDevice.misfit("device_id") }
        guard name?.isName ?? true else { throw SessionDevice.misfit("device_name") }
    }

    private static func misfit(_ name: String) -> SkyrowError {
        .invalidArgument("The id and the name of a device must be 1 to 255 bytes without NUL.", name)
    }
}

extension BecomeRequest {
    /// Reads `auth:become`.
    package init(parameters json: JSONView) throws(SkyrowError) {
        let parameters = Parameters(json)
        self.init(token: try parameters.required("token", parameters.string("token")))
    }
}

extension StepUpRequest {
    /// Reads `auth:stepup`: a password, a code, or the token of a provider.
    package init(parameters json: JSONView) throws(SkyrowError) {
        let parameters = Parameters(json)
        let token = parameters["provider"] != nil || parameters["id_token"] != nil
        switch (try parameters.string("password"), try parameters.string("code"), token) {
        case (let password?, nil, false): self = .password(password)
        case (nil, let code?, false): self = .code(code)
        case (nil, nil, true): self = .token(try ProviderToken(parameters: json))
        default:
            throw .invalidArgument(
                "Send a password, a code, or the token of a provider.",
                "password",
                "code",
                "id_token"
            )
        }
    }
}

extension RevokeSessionsRequest {
    /// Reads `session:revoke`, `{"ids": ["…"]}` or `{"all": true, "except_current": true}`.
    package init(parameters json: JSONView) throws(SkyrowError) {
        let parameters = Parameters(json)
        let all = try parameters.boolean("all") ?? false
        let exceptCurrent = try parameters.boolean("except_current") ?? false
        guard let ids = try parameters.names("ids") else {
            guard all else { throw .invalidArgument("Send \"ids\", or \"all\": true.", "ids", "all") }
            self = .all(exceptCurrent: exceptCurrent)
            return
        }
        guard !all, !exceptCurrent else {
            throw .invalidArgument("Send either \"ids\" or \"all\".", "ids", "all")
        }
        for (place, id) in ids.enumerated() where !id.isUUID {
            throw SkyrowError.invalidArgument("The id of a session must be a UUID; session:list returns it.", "ids")
                .at(place).at("ids")
        }
        self = .ids(ids)
    }
}

extension String {
    /// Whether it is a UUID as PostgreSQL writes it.
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

extension AccountSession {
    /// Reads an element of the result of `session:list`.
    package init(result json: JSONView) throws(SkyrowError) {
        guard let id = json["id"]?.string, let created = json["created_at"]?.string,
            let used = json["last_used_at"]?.string
        else { throw SkyrowError(.badRequest, "A session must have an id, created_at and last_used_at.") }
        self.init(
            id: id,
            device: SessionDevice(id: json["device_id"]?.string, name: json["device_name"]?.string),
            address: json["address"]?.string,
            userAgent: json["user_agent"]?.string,
            createdAt: try Timestamp(rfc3339: created),
            lastUsedAt: try Timestamp(rfc3339: used),
            createdWith: json["created_with"]?.string,
            level: json["level"]?.wholeNumber.flatMap { Int(exactly: $0) } ?? 1,
            isCurrent: json["current"]?.boolean ?? false
        )
        if let text = json["expires_at"]?.string { expiresAt = try Timestamp(rfc3339: text) }
    }
}

extension JSONWriter {
    /// The result of `session:list`.
    package func sessions(_ sessions: [AccountSession]) {
        beginArray()
        for session in sessions where refusal == nil { self.session(session) }
        endArray()
    }

    private func session(_ session: AccountSession) {
        beginObject()
        key("id")
        string(session.id)
        optional("device_id", session.device.id)
        optional("device_name", session.device.name)
        optional("address", session.address)
        optional("user_agent", session.userAgent)
        key("created_at")
        timestamp(session.createdAt)
        key("last_used_at")
        timestamp(session.lastUsedAt)
        if let expiresAt = session.expiresAt {
            key("expires_at")
            timestamp(expiresAt)
        }
        optional("created_with", session.createdWith)
        key("level")
        integer(session.level)
        key("current")
        boolean(session.isCurrent)
        endObject()
    }

    /// The result of `session:revoke`.
    package func revokedSessions(_ count: Int) {
        beginObject()
        key("revoked")
        integer(count)
        endObject()
    }

    /// The result of `live:ticket`.
    package func liveTicket(_ ticket: LiveTicket) {
        beginObject()
        key("token")
        string(ticket.token)
        key("expires_at")
        timestamp(ticket.expiresAt)
        endObject()
    }

    /// The result of `auth:stepup`.
    package func elevatedUntil(_ end: Timestamp) {
        beginObject()
        key("elevated_until")
        timestamp(end)
        endObject()
    }

    /// The parameters of `auth:stepup`.
    package func stepUpParameters(_ request: StepUpRequest) {
        switch request {
        case .token(let token):
            providerTokenParameters(token)
        case .password(let password):
            beginObject()
            key("password")
            string(password)
            endObject()
        case .code(let code):
            beginObject()
            key("code")
            string(code)
            endObject()
        }
    }

    /// The parameters of `auth:become`.
    package func becomeParameters(_ request: BecomeRequest) {
        beginObject()
        key("token")
        string(request.token)
        endObject()
    }

    /// The parameters of `session:revoke`.
    package func revokeSessionsParameters(_ request: RevokeSessionsRequest) {
        beginObject()
        switch request {
        case .ids(let ids):
            key("ids")
            strings(ids)
        case .all(let exceptCurrent):
            key("all")
            boolean(true)
            if exceptCurrent {
                key("except_current")
                boolean(true)
            }
        }
        endObject()
    }

    /// The members of a login that say for which device it is.
    func device(_ device: SessionDevice) {
        optional("device_id", device.id)
        optional("device_name", device.name)
    }

    private func optional(_ name: StaticString, _ text: String?) {
        guard let text else { return }
        key(name)
        string(text)
    }
}
