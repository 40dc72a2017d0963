import SkyrowModel
public import SkyrowProtocol

/// The handle of a requested code, which is sent with the digits that the user reads in the mail.
public typealias CodeHandle = CodeTicket

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
        try await call(Actions.authResetRequest, CodeRequest(email: email, language: language))
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
        return try await logIn(Actions.authResetConfirm, ResetConfirmation(code: confirmation, password: password))
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
        try await call(Actions.authVerifyRequest, VerificationRequest(email: email, language: language))
    }

    /// Verifies an address with a code.
    ///
    /// - Parameters:
    ///   - code: the code of a link, or the digits of a mail.
    ///   - handle: the result of the request for the code; required with digits.
    public func verifyAddress(code: String, handle: CodeHandle? = nil) async throws(ClientError) {
        try await call(Actions.authVerifyConfirm, CodeConfirmation(code: code, handle: handle?.handle))
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
        try await call(Actions.authEmailChange, EmailChange(email: email, password: password, language: language))
    }

    /// Changes the address of the account with the digits of a mail, and ends its other sessions.
    ///
    /// - Parameters:
    ///   - code: the digits.
    ///   - handle: the result of the request for the digits.
    public func confirmAddressChange(code: String, handle: CodeHandle) async throws(ClientError) {
        try await call(Actions.authEmailConfirm, EmailConfirmation(code: code, handle: handle.handle))
    }

    /// Restores the former address of an account, with the code of a mail to that address.
    ///
    /// The account's sessions end, and it requires a new password.
    public func undoAddressChange(code: String) async throws(ClientError) {
        try await call(Actions.authEmailUndo, code)
    }

    /// Sends a mail with a code that logs in; the result does not reveal whether an account has the address.
    ///
    /// - Parameters:
    ///   - email: the address of the account, in any case and form.
    ///   - language: the language of the mail, such as `de`.
    public func requestLogInCode(of email: String, language: String? = nil) async throws(ClientError) -> CodeHandle {
        try await call(Actions.authLinkRequest, CodeRequest(email: email, language: language))
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
        try await logIn(Actions.authLinkLogIn, LinkLogIn(code: code, handle: handle.handle, device: device))
    }

    /// Sets the password of an account, ends its sessions, and logs in to it; requires the master key.
    ///
    /// - Parameters:
    ///   - userID: the account.
    ///   - password: the new password.
    @discardableResult
    public func setPassword(of userID: UserID, to password: String) async throws(ClientError) -> Account {
        try await logIn(Actions.authResetPassword, NewPassword(userID: userID, password: password))
    }
}
