import SkyrowJSON
import SkyrowModel
import SkyrowProtocol
import SkyrowRemote
import SkyrowStore

extension ActionService {
    /// A user who has not chosen one yet gets another mail. Throws `109 Duplicated` if the address belongs to an account with a
    /// login method, `111 NotSupported` if the service sends no mail, and `131 RateLimited` if the last mail to the address is
    /// too recent.
    func invite(_ request: CodeRequest, _ call: Call) async throws(SkyrowError) -> UserID {
        try call.caller.requireAdministrator()
        // An operator's command writes mails that the running service sends.
        guard configuration.mail != nil || call.actor == .operator else {
            throw SkyrowError(.notSupported, "This service does not send mail.")
        }
        guard let key = store.loginKeys.first(where: { $0.rawValue == "email" }) else {
            throw SkyrowError(.notSupported, "Accounts of this service do not log in with an address.")
        }
        // An invited user chooses a password.
        try configuration.accounts.requirePasswords()
        guard MailAddress(request.email) != nil else {
            throw .invalidArgument("Send a valid email address.", "email")
        }
        try configuration.accounts.check(.string(request.email), of: key)
        let user: UserID
        if let holder = try await store.codes.holder(of: request.email) {
            guard !holder.isRegistered else {
                throw SkyrowError(
                    .duplicated,
                    "The user already exists.",
                    info: ["arguments": .list([.string(key.rawValue)])]
                )
            }
            user = holder.user
        } else {
            user = UserID(UUIDText().description)
            let account = NewAccount(id: user, passwordHash: nil, profile: [(key, .string(request.email))])
            _ = try await store.users.create(account, session: nil, recording: call.audit(.invite))
        }
        let (email, language) = (request.email, request.language)
        guard try await mail(OneTimeCode(), .invite, to: email, language: language, from: .none) else {
            throw SkyrowError(.rateLimited, "A mail was just sent to this address; wait a minute.")
        }
        mailSignals.continuation.yield()
        return user
    }

    /// Stores a code and its mail; returns false when there were too many mails.
    ///
    /// - Parameter user: the account that gets the address after confirmation; nil for a code of the account that has it.
    func mail(
        _ code: OneTimeCode,
        _ kind: CodeKind,
        to email: String,
        for user: UserID? = nil,
        language: String?,
        from client: ClientKey
    ) async throws(SkyrowError) -> Bool {
        if let language, !MailTemplates.isLanguage(language) {
            throw .invalidArgument("A language must be a tag such as de or pt-BR.", "language")
        }
        let keys = try await store.codes.keys()
        var new = NewCode(code, kind, to: email, under: keys, language: language, from: client)
        if let source = GuessSource(address: email, from: client) {
            new.isOfKnownClient = try await store.throttle.isKnown(source)
        }
        return try await store.codes.issue(new, for: user, limits: CodeMailLimits())
    }
}

extension GuessSource {
    /// The source of a login by mail address; nil for a client without an address.
    init?(address: String, from client: ClientKey) {
        guard client != .none else { return nil }
        self.init(accounts: [Account(key: "email", value: address)], client: client.bytes)
    }
}

extension NewCode {
    /// The stored properties and the mail of a code.
    init(
        _ code: OneTimeCode,
        _ kind: CodeKind,
        to email: String,
        under keys: CodeKeys,
        language: String?,
        from client: ClientKey
    ) {
        self.init(
            kind: kind,
            address: email,
            id: code.id,
            linkHash: OneTimeCode.linkHash(code.link),
            digitsHash: keys.hash(code.digits, of: code.id),
            language: language ?? "",
            link: code.link,
            digits: code.digits,
            client: client == .none ? nil : client.bytes
        )
    }
}
