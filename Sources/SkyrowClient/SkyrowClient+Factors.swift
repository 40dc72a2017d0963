import SkyrowJSON
public import SkyrowModel
import SkyrowWire

/// A log-in whose password was right, and that waits for a code of the second factor.
public struct SecondFactorRequest: Hashable, Sendable {
    /// Goes with the code.
    public var handle: String
    /// By which factors it may go on.
    public var factors: [AccountFactor.Kind]
}

extension ClientError {
    /// What a log-in waits for that was refused with 137; nil for any other error.
    ///
    /// ```swift
    /// do {
    ///     try await client.logIn(["username": "ann"], password: "correct horse")
    /// } catch {
    ///     guard let request = error.secondFactor else { throw error }
    ///     try await client.logIn(request, code: "204418")
    /// }
    /// ```
    public var secondFactor: SecondFactorRequest? {
        guard serverCode == .secondFactorRequired, case .string(let handle)? = serverError?.info["handle"],
            case .list(let factors)? = serverError?.info["factors"]
        else { return nil }
        let kinds = factors.compactMap { factor in
            if case .string(let name) = factor { AccountFactor.Kind(rawValue: name) } else { nil }
        }
        return SecondFactorRequest(handle: handle, factors: kinds)
    }
}

extension SkyrowClient {
    /// Goes on with a log-in by a code of the second factor.
    @discardableResult
    public func logIn(_ request: SecondFactorRequest, code: String) async throws(ClientError) -> Account {
        let request = FactorLogInRequest(handle: request.handle, code: code)
        return try await logIn(.authLogInFactor) { $0.factorLogInParameters(request) }
    }

    /// Makes a secret for codes by time, which takes effect with ``confirmTOTP(code:)``. It takes ``stepUp(password:)``.
    public func enrolTOTP() async throws(ClientError) -> TOTPEnrolment {
        try await call(.authTOTPEnrol) { json throws(SkyrowError) in
            guard let secret = json["secret"]?.string, let uri = json["uri"]?.string else {
                throw SkyrowError(.badRequest, "An enrolment has secret and uri.")
            }
            return TOTPEnrolment(secret: secret, uri: uri)
        }
    }

    /// Puts the secret into effect whose code comes, and returns recovery codes, which are shown once.
    public func confirmTOTP(code: String) async throws(ClientError) -> [String] {
        try await call(.authTOTPConfirm) {
            $0.factorCodeParameters(code)
        } read: { json throws(SkyrowError) in
            guard let codes = json["recovery_codes"] else {
                throw SkyrowError(.badRequest, "The result has recovery_codes.")
            }
            return codes.elements.compactMap(\.string)
        }
    }

    /// Removes the second factor with its recovery codes. It takes ``stepUp(password:)``.
    public func removeTOTP() async throws(ClientError) {
        try await call(.authTOTPRemove) { _ throws(SkyrowError) in }
    }

    /// The second factors of the logged-in user.
    public func factors() async throws(ClientError) -> [AccountFactor] {
        try await call(.authFactorList) { json throws(SkyrowError) in
            var factors: [AccountFactor] = []
            for element in json.elements { factors.append(try AccountFactor(result: element)) }
            return factors
        }
    }
}
