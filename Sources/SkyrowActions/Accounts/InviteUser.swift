import SkyrowJSON
package import SkyrowModel
import SkyrowProtocol
import SkyrowRemote
package import SkyrowStore

extension ActionService {
    /// A user who has not chosen one yet gets another mail. Throws `109 Duplicated` if the address belongs to an account with a
    /// login method, `111 NotSupported` if the service sends no mail, and `131 RateLimited` if the last mail to the address is
    /// too recent.
    func invite(_ request: CodeRequest, _ call: Call) async throws(SkyrowError) -> UserID {
        try call.caller.requireAdministrator()
        guard configuration.mail != nil else {
            throw SkyrowError(.notSupported, "This service does not send mail.")
        }
        let desk = AccountDesk(store: store, passwords: passwords, policy: configuration.accounts)
        let actor = AuditEvent.Actor(call.caller)
        let user = try await desk.invite(request.email, language: request.language, by: actor, from: call.origin)
        mailSignals.continuation.yield()
        return user
    }
}

extension AccountDesk {
    /// Creates an account without a password for the user of an address, and queues a mail with a link to choose one.
    ///
    /// The running service sends the mail. Throws as `auth:invite` does.
    ///
    /// - Parameter actor: the actor of the audit entry.
    package func invite(
        _ email: String,
        roles: [RoleName] = [],
        language: String? = nil,
        by actor: AuditEvent.Actor = .operator,
        from origin: RequestOrigin = RequestOrigin()
    ) async throws(SkyrowError) -> UserID {
        guard let key = store.loginKeys.first(where: { $0.rawValue == "email" }) else {
            throw SkyrowError(.notSupported, "Accounts of this service do not log in with an address.")
        }
        // An invited user chooses a password.
        try policy.requirePasswords()
        guard MailAddress(email) != nil else {
            throw .invalidArgument("Send a valid email address.", "email")
        }
        try policy.check(.string(email), of: key)
        let names = try await existing(roles)
        let user: UserID
        if let holder = try await store.codes.holder(of: email) {
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
            let account = NewAccount(id: user, passwordHash: nil, profile: [(key, .string(email))])
            let event = AuditEvent(.invite, by: actor, from: origin)
            _ = try await store.users.create(account, session: nil, recording: event, roles: names)
        }
        guard try await mail(OneTimeCode(), .invite, to: email, language: language, from: .none) else {
            throw SkyrowError(.rateLimited, "A mail was just sent to this address; wait a minute.")
        }
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
        return try await store.codes.issue(
            new,
            for: user,
            limits: CodeMailLimits()
        )
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
