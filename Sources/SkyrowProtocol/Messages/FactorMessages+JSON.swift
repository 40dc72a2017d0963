package import SkyrowJSON
package import SkyrowModel

/// The result of an action around second factors.
package enum FactorResult: Sendable {
    /// `auth:totp:enrol`
    case enrolment(TOTPEnrolment)
    /// `auth:totp:confirm`
    case recoveryCodes([String])
    /// `auth:factor:list`
    case factors([AccountFactor])
}

extension FactorLogInRequest {
    /// Reads `auth:login:factor`.
    package init(parameters json: JSONView) throws(SkyrowError) {
        let parameters = Parameters(json)
        self.init(
            handle: try parameters.required("handle", parameters.string("handle")),
            code: try FactorLogInRequest.code(json)
        )
    }

    /// Reads the code of `auth:totp:confirm`.
    package static func code(_ json: JSONView) throws(SkyrowError) -> String {
        let parameters = Parameters(json)
        return try parameters.required("code", parameters.string("code"))
    }
}

extension AccountFactor {
    /// Reads an element of the result of `auth:factor:list`.
    package init(result json: JSONView) throws(SkyrowError) {
        guard let kind = json["kind"]?.string.flatMap(Kind.init), let confirmed = json["confirmed_at"]?.string else {
            throw SkyrowError(.badRequest, "A factor must have kind and confirmed_at.")
        }
        self.init(kind, confirmedAt: try Timestamp(rfc3339: confirmed))
        if let text = json["last_used_at"]?.string { lastUsedAt = try Timestamp(rfc3339: text) }
        left = json["left"]?.wholeNumber.flatMap { Int(exactly: $0) }
    }
}

extension JSONWriter {
    package func factorResult(_ result: FactorResult) {
        switch result {
        case .enrolment(let enrolment):
            beginObject()
            key("secret")
            string(enrolment.secret)
            key("uri")
            string(enrolment.uri)
            endObject()
        case .recoveryCodes(let codes):
            beginObject()
            key("recovery_codes")
            strings(codes)
            endObject()
        case .factors(let factors):
            beginArray()
            for factor in factors { self.factor(factor) }
            endArray()
        }
    }

    private func factor(_ factor: AccountFactor) {
        beginObject()
        key("kind")
        string(factor.kind.rawValue)
        key("confirmed_at")
        timestamp(factor.confirmedAt)
        if let lastUsedAt = factor.lastUsedAt {
            key("last_used_at")
            timestamp(lastUsedAt)
        }
        if let left = factor.left {
            key("left")
            integer(left)
        }
        endObject()
    }

    // MARK: The client's side

    /// The parameters of `auth:login:factor`.
    package func factorLogInParameters(_ request: FactorLogInRequest) {
        beginObject()
        key("handle")
        string(request.handle)
        key("code")
        string(request.code)
        endObject()
    }

    /// The parameters of `auth:totp:confirm`.
    package func factorCodeParameters(_ code: String) {
        beginObject()
        key("code")
        string(code)
        endObject()
    }
}
