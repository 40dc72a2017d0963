import SkyrowModel
package import SkyrowRemote
import SkyrowStore
import Synchronization

/// How an application sends mail.
package struct MailConfiguration: Sendable {
    package var transport: any MailTransport
    package var from: Mailbox
    /// The URL at which clients reach the service, without a slash at the end. Links begin with it, regardless of a request's
    /// host.
    package var publicURL: String
    package var templates: MailTemplates
    /// The application's name in mails and pages.
    package var title: String
    package var looks: PageLooks
    /// The application's page that takes the code of a login link; nil for mails with digits alone.
    package var logInURL: String?

    package init(
        transport: any MailTransport,
        from: Mailbox,
        publicURL: String,
        templates: MailTemplates,
        title: String,
        looks: PageLooks = PageLooks(),
        logInURL: String? = nil
    ) {
        self.transport = transport
        self.from = from
        self.publicURL = publicURL
        self.templates = templates
        self.title = title
        self.looks = looks
        self.logInURL = logInURL
    }

    /// Returns the URL of a link with a code; nil without a page for it.
    private func link(_ kind: CodeKind, _ code: String) -> String? {
        if let page = kind.page { return "\(publicURL)/\(page)?code=\(code)" }
        guard kind == .link, let logInURL else { return nil }
        return "\(logInURL)\(logInURL.utf8.contains(UInt8(ascii: "?")) ? "&" : "?")code=\(code)"
    }

    /// Returns the mail of a row; throws for an invalid address or an invalid result of a template.
    func message(_ mail: LeasedMail, to target: String) throws(MailFailure) -> MailMessage {
        guard let address = MailAddress(target) else {
            throw MailFailure(.permanent, "The account has no valid email address.")
        }
        guard let kind = MailKind(rawValue: mail.kind) else {
            throw MailFailure(.permanent, "The mail kind \(mail.kind) does not exist.")
        }
        var values = MailValues(application: title, address: target)
        if let code = CodeKind(rawValue: mail.kind), mail.link != nil || mail.digits != nil {
            values.link = mail.link.flatMap { link(code, $0) } ?? ""
            values.digits = mail.digits ?? ""
            values.linkHours = Int(code.linkLifetime / 3600)
            values.digitsMinutes = Int(CodeKind.digitsLifetime / 60)
        }
        let rendered: MailTemplates.Rendered
        do throws(MailTemplates.Fault) {
            rendered = try templates.render(kind, language: mail.language, values)
        } catch {
            throw MailFailure(.permanent, error.description)
        }
        return try MailMessage(
            from: from,
            to: address,
            subject: rendered.subject,
            text: rendered.text,
            html: rendered.html,
            // Random, so that recipients cannot count mails.
            id: CodeHandle.random
        )
    }
}

/// An operator's replacements for the style of the pages.
package struct PageLooks: Sendable {
    /// A CSS file.
    package var style: [UInt8]?
    package var logo: (bytes: [UInt8], type: String)?

    package init(style: [UInt8]? = nil, logo: (bytes: [UInt8], type: String)? = nil) {
        self.style = style
        self.logo = logo
    }
}

/// The schedule for further attempts to send a mail.
enum MailRetry {
    /// Returns the pause in seconds: a minute after the first attempt, and twice as long after each further one. The table gives
    /// up after a day.
    static func pause(after attempts: Int) -> Int64 {
        60 << Int64(min(max(attempts, 1) - 1, 11))
    }
}

extension CodeHandle {
    /// A random text for a unique name.
    fileprivate static var random: String {
        let letters = Array("abcdefghijklmnopqrstuvwxyz0123456789")
        return String((0..<25).map { _ in letters.randomElement() ?? "a" })
    }
}

extension ActionService {
    /// The number of mails to lease at once. A server that does not respond delays each by up to a minute, which is less than
    /// their lease.
    private static let mailsAtOnce: Int64 = 2

    /// Sends queued mails whenever this process has added one. Mails of other processes, and those to retry, are looked for every
    /// minute, and every ten seconds while there are any.
    func sendMailPeriodically() async {
        guard configuration.mail != nil else { return }
        await withDiscardingTaskGroup { group in
            group.addTask { [self] in
                for await _ in mailSignals.stream { await sendMail() }
            }
            mailSignals.continuation.yield()
            var round = 0
            while (try? await clock.sleep(.seconds(10))) != nil {
                round += 1
                // An application without mail queries its database once a minute.
                if round.isMultiple(of: 6) { await countMail() }
                if waitingMails.load(ordering: .relaxed) > 0 { mailSignals.continuation.yield() }
            }
        }
    }

    func countMail() async {
        do throws(SkyrowError) {
            waitingMails.store(try await store.mails.waiting(), ordering: .relaxed)
        } catch {
            if error.code != .overloaded { observe(.mailFailed(error.message)) }
        }
    }

    /// Sends the due mails, one after the other.
    func sendMail() async {
        guard let mail = configuration.mail else { return }
        do throws(SkyrowError) {
            while !Task.isCancelled {
                let leased = try await store.mails.lease(Self.mailsAtOnce)
                guard !leased.isEmpty else { return }
                for row in leased { try await send(row, mail) }
            }
        } catch {
            // An unavailable database is reported elsewhere.
            if error.code != .overloaded { observe(.mailFailed(error.message)) }
        }
    }

    private func send(_ row: LeasedMail, _ mail: MailConfiguration) async throws(SkyrowError) {
        guard let target = row.target else {
            try await store.mails.settle(row, .dropped)
            return observe(.mail(.dropped))
        }
        do throws(MailFailure) {
            try await mail.transport.send(mail.message(row, to: target))
        } catch {
            observe(.mailFailed(error.description))
            let outcome: MailOutcome =
                switch error.kind {
                case .permanent: .refused(error.description)
                case .transient: .failed(error.description, retryAfter: MailRetry.pause(after: Int(row.attempts)))
                }
            let isDead = try await store.mails.settle(row, outcome)
            return observe(.mail(isDead ? .dead : .retried))
        }
        try await store.mails.settle(row, .sent)
        observe(.mail(.sent))
    }
}
