import SkyrowJSON
import SkyrowModel
import SkyrowProtocol

/// The handle of a requested code, which is sent with the digits that the user reads in the mail.
public struct CodeHandle: Hashable, Sendable {
    public var handle: String
    /// When the digits expire.
    public var expiresAt: Timestamp

    public init(handle: String, expiresAt: Timestamp) {
        self.handle = handle
        self.expiresAt = expiresAt
    }
}

extension SkyrowClient {
    /// Sends a mail with a code that sets a new password; the result does not reveal whether an account has the address.
    ///
    /// ```swift
    /// let code = try await client.requestPasswordReset(of: "ann@example.org")
    /// // The user types the six digits of the mail, and a new password.
    /// try await client.resetPassword(to: "staple correct", code: "491302", handle: code)
    /// ```
    ///
    /// - Parameters:
    ///   - email: the address of the account, in any case and form.
    ///   - language: the language of the mail, such as `de`.
    public func requestPasswordReset(
        of email: String,
        language: String? = nil
    ) async throws(ClientError) -> CodeHandle {
        try await requestCode(.authResetRequest, CodeRequest(email: email, language: language))
    }

    /// Sets a new password with a code, ends every session of the account, and logs in.
    ///
    /// - Parameters:
    ///   - password: the new password.
    ///   - code: the code of a link, or the digits of a mail.
    ///   - handle: the result of the request for the code; required with digits.
    @discardableResult
    public func resetPassword(
        to password: String,
        code: String,
        handle: CodeHandle? = nil
    ) async throws(ClientError) -> Account {
        let confirmation = CodeConfirmation(code: code, handle: handle?.handle)
        return try await logIn(.authResetConfirm) { $0.codeConfirmationParameters(confirmation, password: password) }
    }

    /// Sends a mail with a code that verifies an address; the result does not reveal whether an account has it.
    ///
    /// - Parameters:
    ///   - email: the address; nil for that of the logged-in user.
    ///   - language: the language of the mail, such as `de`.
    public func requestVerification(
        of email: String? = nil,
        language: String? = nil
    ) async throws(ClientError) -> CodeHandle {
        try await requestCode(.authVerifyRequest, CodeRequest(email: email, language: language))
    }

    /// Verifies an address with a code.
    ///
    /// - Parameters:
    ///   - code: the code of a link, or the digits of a mail.
    ///   - handle: the result of the request for the code; required with digits.
    public func verifyAddress(code: String, handle: CodeHandle? = nil) async throws(ClientError) {
        let confirmation = CodeConfirmation(code: code, handle: handle?.handle)
        // A code is valid once, so a repeated call would fail although the first one succeeded.
        try await call(.authVerifyConfirm) {
            $0.codeConfirmationParameters(confirmation)
        } read: { _ throws(SkyrowError) in
        }
    }

    /// Mails digits to a new address of the account; the result does not reveal whether another account has the address.
    ///
    /// ```swift
    /// let code = try await client.requestAddressChange(to: "ann@example.com", password: "correct horse")
    /// // The user types the six digits of the mail.
    /// try await client.confirmAddressChange(code: "491302", handle: code)
    /// ```
    ///
    /// Without a password, throws `138 StepUpRequired` unless the user has proved their identity within the last minutes.
    ///
    /// - Parameters:
    ///   - email: the new address.
    ///   - password: the password of the account; nil after ``stepUp(password:)``.
    ///   - language: the language of the mail, such as `de`.
    public func requestAddressChange(
        to email: String,
        password: String? = nil,
        language: String? = nil
    ) async throws(ClientError) -> CodeHandle {
        let request = EmailChangeRequest(email: email, password: password, language: language)
        return try await requestCode(.authEmailChange) { $0.emailChangeParameters(request) }
    }

    /// Changes the address of the account with the digits of a mail, and ends its other sessions.
    ///
    /// - Parameters:
    ///   - code: the digits.
    ///   - handle: the result of the request for the digits.
    public func confirmAddressChange(code: String, handle: CodeHandle) async throws(ClientError) {
        let confirmation = CodeConfirmation(code: code, handle: handle.handle)
        try await call(.authEmailConfirm) {
            $0.codeConfirmationParameters(confirmation)
        } read: { _ throws(SkyrowError) in
        }
    }

    /// Restores the former address of an account, with the code of a mail to that address.
    ///
    /// The account's sessions end, and it requires a new password.
    public func undoAddressChange(code: String) async throws(ClientError) {
        try await call(.authEmailUndo) {
            $0.codeConfirmationParameters(CodeConfirmation(code: code))
        } read: { _ throws(SkyrowError) in
        }
    }

    /// Sends a mail with a code that logs in; the result does not reveal whether an account has the address.
    ///
    /// - Parameters:
    ///   - email: the address of the account, in any case and form.
    ///   - language: the language of the mail, such as `de`.
    public func requestLogInCode(of email: String, language: String? = nil) async throws(ClientError) -> CodeHandle {
        try await requestCode(.authLinkRequest, CodeRequest(email: email, language: language))
    }

    /// Logs in with the code of a mail.
    ///
    /// - Parameters:
    ///   - code: the code of a link, or the digits of a mail.
    ///   - handle: the result of the request for the code.
    ///   - device: the device of the session.
    @discardableResult
    public func logIn(
        code: String,
        handle: CodeHandle,
        device: SessionDevice = SessionDevice()
    ) async throws(ClientError) -> Account {
        let request = LinkLogInRequest(code: code, handle: handle.handle, device: device)
        return try await logIn(.authLinkLogIn) { $0.linkLogInParameters(request) }
    }

    /// Sets the password of an account, ends its sessions, and logs in to it; requires the master key.
    ///
    /// - Parameters:
    ///   - userID: the account.
    ///   - password: the new password.
    @discardableResult
    public func setPassword(of userID: UserID, to password: String) async throws(ClientError) -> Account {
        let request = SetPasswordRequest(userID: userID, password: password)
        return try await logIn(.authResetPassword) { $0.setPasswordParameters(request) }
    }

    private func requestCode(_ action: ActionName, _ request: CodeRequest) async throws(ClientError) -> CodeHandle {
        try await requestCode(action) { $0.codeRequestParameters(request) }
    }

    private func requestCode(
        _ action: ActionName,
        parameters: @escaping (JSONWriter) -> Void
    ) async throws(ClientError) -> CodeHandle {
        try await call(action, parameters: parameters) { json throws(SkyrowError) in
            guard let handle = json["handle"]?.string, let text = json["expires_at"]?.string else {
                throw .invalidArgument("A code must have handle and expires_at.")
            }
            return CodeHandle(handle: handle, expiresAt: try Timestamp(rfc3339: text))
        }
    }
}
