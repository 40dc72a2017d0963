import SkyrowJSON
import SkyrowModel
import SkyrowWire

/// A code that was asked for; it goes with the digits that the user reads in the mail.
public struct CodeHandle: Hashable, Sendable {
    public var handle: String
    /// Until when digits count.
    public var expiresAt: Timestamp

    public init(handle: String, expiresAt: Timestamp) {
        self.handle = handle
        self.expiresAt = expiresAt
    }
}

extension SkyrowClient {
    /// Has a mail sent with a code that sets a new password; nothing reveals whether an account has the address.
    ///
    /// ```swift
    /// let code = try await client.requestPasswordReset(of: "ann@example.org")
    /// // The user types the six digits of the mail, and a new password.
    /// try await client.resetPassword(to: "staple correct", code: "491302", handle: code)
    /// ```
    ///
    /// - Parameters:
    ///   - email: the address of the account, in any case and form.
    ///   - language: that of the mail, such as `de`.
    public func requestPasswordReset(
        of email: String,
        language: String? = nil
    ) async throws(ClientError) -> CodeHandle {
        try await requestCode(.authResetRequest, CodeRequest(email: email, language: language))
    }

    /// Sets a new password with a code, which ends every session of the account, and logs in.
    ///
    /// - Parameters:
    ///   - password: the new one.
    ///   - code: the code of a link, or the digits of a mail.
    ///   - handle: what the request for the code returned; needed with digits.
    @discardableResult
    public func resetPassword(
        to password: String,
        code: String,
        handle: CodeHandle? = nil
    ) async throws(ClientError) -> Account {
        let confirmation = CodeConfirmation(code: code, handle: handle?.handle)
        return try await logIn(.authResetConfirm) { $0.codeConfirmationParameters(confirmation, password: password) }
    }

    /// Has a mail sent with a code that proves an address; nothing reveals whether an account has it.
    ///
    /// - Parameters:
    ///   - email: the address; nil for that of the logged-in user.
    ///   - language: that of the mail, such as `de`.
    public func requestVerification(
        of email: String? = nil,
        language: String? = nil
    ) async throws(ClientError) -> CodeHandle {
        try await requestCode(.authVerifyRequest, CodeRequest(email: email, language: language))
    }

    /// Proves an address with a code.
    ///
    /// - Parameters:
    ///   - code: the code of a link, or the digits of a mail.
    ///   - handle: what the request for the code returned; needed with digits.
    public func verifyAddress(code: String, handle: CodeHandle? = nil) async throws(ClientError) {
        let confirmation = CodeConfirmation(code: code, handle: handle?.handle)
        // A code that was used counts no more, so that a second call would fail where the first one has not.
        try await call(.authVerifyConfirm) {
            $0.codeConfirmationParameters(confirmation)
        } read: { _ throws(SkyrowError) in
        }
    }

    /// Has digits mailed to a new address of the account; nothing reveals whether another account has it.
    ///
    /// ```swift
    /// let code = try await client.requestAddressChange(to: "ann@example.com", password: "correct horse")
    /// // The user types the six digits of the mail.
    /// try await client.confirmAddressChange(code: "491302", handle: code)
    /// ```
    ///
    /// Throws `138 StepUpRequired` without a password where the user has not proved within the last minutes who it is.
    ///
    /// - Parameters:
    ///   - email: the new address.
    ///   - password: the account's; nil after ``stepUp(password:)``.
    ///   - language: that of the mail, such as `de`.
    public func requestAddressChange(
        to email: String,
        password: String? = nil,
        language: String? = nil
    ) async throws(ClientError) -> CodeHandle {
        let request = EmailChangeRequest(email: email, password: password, language: language)
        return try await requestCode(.authEmailChange) { $0.emailChangeParameters(request) }
    }

    /// Changes the address of the account with the digits of a mail, which ends its other sessions.
    ///
    /// - Parameters:
    ///   - code: the digits.
    ///   - handle: what the request for them returned.
    public func confirmAddressChange(code: String, handle: CodeHandle) async throws(ClientError) {
        let confirmation = CodeConfirmation(code: code, handle: handle.handle)
        try await call(.authEmailConfirm) {
            $0.codeConfirmationParameters(confirmation)
        } read: { _ throws(SkyrowError) in
        }
    }

    /// Gives an account the address back that it had, by the code of a mail to that address.
    ///
    /// The account's sessions end, and it takes a new password.
    public func undoAddressChange(code: String) async throws(ClientError) {
        try await call(.authEmailUndo) {
            $0.codeConfirmationParameters(CodeConfirmation(code: code))
        } read: { _ throws(SkyrowError) in
        }
    }

    /// Has a code mailed that logs in; nothing reveals whether an account has the address.
    ///
    /// - Parameters:
    ///   - email: the address of the account, in any case and form.
    ///   - language: that of the mail, such as `de`.
    public func requestLogInCode(of email: String, language: String? = nil) async throws(ClientError) -> CodeHandle {
        try await requestCode(.authLinkRequest, CodeRequest(email: email, language: language))
    }

    /// Logs in with the code of a mail.
    ///
    /// - Parameters:
    ///   - code: the code of a link, or the digits of a mail.
    ///   - handle: what the request for the code returned.
    ///   - device: for which device the session is.
    @discardableResult
    public func logIn(
        code: String,
        handle: CodeHandle,
        device: SessionDevice = SessionDevice()
    ) async throws(ClientError) -> Account {
        let request = LinkLogInRequest(code: code, handle: handle.handle, device: device)
        return try await logIn(.authLinkLogIn) { $0.linkLogInParameters(request) }
    }

    /// Sets the password of an account with the master key, which ends its sessions, and logs in to it.
    ///
    /// - Parameters:
    ///   - userID: the account.
    ///   - password: the new one.
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
                throw .invalidArgument("A code has handle and expires_at.")
            }
            return CodeHandle(handle: handle, expiresAt: try Timestamp(rfc3339: text))
        }
    }
}
