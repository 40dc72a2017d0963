/// `auth:verify:request`, `auth:reset:request` and `auth:invite`, decoded.
package struct CodeRequest: Sendable {
    /// nil for the address of the logged-in user.
    package var email: String?
    /// The language of the mail, such as `de` or `pt-BR`.
    package var language: String?

    package init(email: String? = nil, language: String? = nil) {
        self.email = email
        self.language = language
    }
}

/// The result of a request for a code, whether or not an account has the address.
package struct CodeTicket: Hashable, Sendable {
    /// The handle that is sent with the digits of the mail.
    package var handle: String
    /// When the digits expire.
    package var expiresAt: Timestamp

    package init(handle: String, expiresAt: Timestamp) {
        self.handle = handle
        self.expiresAt = expiresAt
    }
}

/// `auth:verify:confirm`, decoded: the code of a link, or the digits of a mail with the handle.
package struct CodeConfirmation: Sendable {
    package var code: String
    package var handle: String?

    package init(code: String, handle: String? = nil) {
        self.code = code
        self.handle = handle
    }
}

/// `auth:reset:confirm`, decoded.
package struct ResetConfirmation: Sendable {
    package var code: CodeConfirmation
    package var password: String

    package init(code: CodeConfirmation, password: String) {
        self.code = code
        self.password = password
    }
}

/// `auth:reset_password`, decoded.
package struct SetPasswordRequest: Sendable {
    package var userID: UserID
    package var password: String

    package init(userID: UserID, password: String) {
        self.userID = userID
        self.password = password
    }
}

/// `auth:email:change`, decoded.
package struct EmailChangeRequest: Sendable {
    /// The new address.
    package var email: String
    /// The account's password, in place of step-up.
    package var password: String?
    package var language: String?

    package init(email: String, password: String? = nil, language: String? = nil) {
        self.email = email
        self.password = password
        self.language = language
    }
}

/// `auth:link:login`, decoded.
package struct LinkLogInRequest: Sendable {
    /// The code of the link, or the digits of the mail.
    package var code: String
    package var handle: String
    package var device: SessionDevice

    package init(code: String, handle: String, device: SessionDevice = SessionDevice()) {
        self.code = code
        self.handle = handle
        self.device = device
    }
}
