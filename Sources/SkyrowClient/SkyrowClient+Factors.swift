public import SkyrowModel
import SkyrowProtocol

/// A log-in with the correct password that requires a code of the second factor.
public struct SecondFactorRequest: Hashable, Sendable {
    /// The handle of the log-in, which is sent with the code.
    public var handle: String
    /// The factors that can complete the log-in.
    public var factors: [AccountFactor.Kind]
}

extension ClientError {
    /// The log-in that was refused with 137 until a code is sent; nil for any other error.
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
    /// Completes a log-in with a code of the second factor.
    @discardableResult
    public func logIn(_ request: SecondFactorRequest, code: String) async throws(ClientError) -> Account {
        try await logIn(Actions.authLogInFactor, FactorLogIn(handle: request.handle, code: code))
    }

    /// Creates a secret for time-based codes, which takes effect with ``confirmTOTP(code:)``. Requires ``stepUp(password:)``.
    public func enrolTOTP() async throws(ClientError) -> TOTPEnrolment {
        try await call(Actions.authTOTPEnrol, ())
    }

    /// Activates the secret that the code belongs to; returns recovery codes, which are shown only once.
    public func confirmTOTP(code: String) async throws(ClientError) -> [String] {
        try await call(Actions.authTOTPConfirm, code)
    }

    /// Removes the second factor with its recovery codes. Requires ``stepUp(password:)``.
    public func removeTOTP() async throws(ClientError) {
        try await call(Actions.authTOTPRemove, ())
    }

    /// Returns the second factors of the logged-in user.
    public func factors() async throws(ClientError) -> [AccountFactor] {
        try await call(Actions.authFactorList, ())
    }
}
