package import SkyrowActions
import SkyrowJSON
package import SkyrowRemote
package import SkyrowSystem

/// Settings of mail and of the addresses of accounts.
package final class MailSettings: SettingGroup {
    package static let title = "Mail"

    package init() {}

    /// The destination of mail.
    package enum Destination: Hashable, Sendable {
        case off
        case file(directory: String)
        case server(SMTPServer)
    }

    package let destination = Setting(
        "mail",
        Destination.off,
        shown: "off",
        .text("url"),
        mustBe: "smtp://user@host:587, smtps://user@host:465, file:<directory> or off, without a password",
        """
        How mail is sent: through a server, with `smtp://` by STARTTLS or with `smtps://` by TLS from the start; for development \
        into files of a directory, `file:/tmp/mail`; `off` sends none.
        """
    ) { text in
        if text == "off" { return .off }
        if text.hasPrefix("file:") {
            let directory = String(text.dropFirst("file:".count))
            return directory.isEmpty ? nil : .file(directory: directory)
        }
        return SMTPServer(url: text).map { .server($0) }
    }

    package let password = Setting<String?>(
        "mail-password",
        nil,
        shown: "",
        .text("password"),
        mustBe: "1 to 1000 characters without control characters",
        "The password of the user that `mail` names."
    ) { text in
        let isFit = (1...1000).contains(text.utf8.count) && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f }
        return isFit ? .some(text) : nil
    }.secret(hasFlag: false)

    package let security = Setting.choice(
        "mail-tls",
        true,
        on: "required",
        """
        Whether an `smtp://` server must use TLS; `off` is for a server on the same machine without TLS, and does not allow a \
        user.
        """
    )

    package let certificates = Setting<String?>.file(
        "mail-ca",
        "PEM file of certificate authorities for the mail server, instead of the system's."
    )

    package let from = Setting<Mailbox?>(
        "mail-from",
        nil,
        shown: "",
        .text("address"),
        mustBe: "an address such as no-reply@example.org or Example <no-reply@example.org>",
        "The sender of mail; required unless `mail` is `off`."
    ) { text in
        Mailbox(text).map { .some($0) }
    }.ofApplications

    package let templates = Setting<String?>(
        "templates",
        nil,
        shown: "",
        .directory,
        mustBe: "the path of a directory",
        """
        A directory with mail templates that replace the service's, `<application>/<language>/<kind>.txt.mustache`, and with the \
        style and logo of the pages.
        """
    ) { text in
        text.isEmpty ? nil : .some(text)
    }

    package let publicURL = Setting<String?>(
        "public-url",
        nil,
        shown: "",
        .text("url"),
        mustBe: "https://host, with an optional port and path, or http:// for development",
        "The public address of the service, for links in mails and for redirects of providers; required unless `mail` is `off`, "
            + "and for `providers` with `redirects`."
    ) { text in
        PublicURL.read(text).map { .some($0) }
    }.ofApplications

    package let verification = Setting.choice(
        "verification",
        AddressVerification.off,
        of: "when",
        mustBe: AddressVerification.allCases.map(\.rawValue).joined(separator: ", "),
        """
        Whether mail addresses of accounts are verified: `optional` mails a code at signup, `required` allows a login only after \
        the code was confirmed.
        """
    ).ofApplications

    package let linkLogIn = Setting.choice(
        "magic-link",
        false,
        "Whether users can log in with a code by mail (`auth:link:request`), without a password."
    ).ofApplications

    package let linkLogInURL = Setting<String?>(
        "magic-link-url",
        nil,
        shown: "",
        .text("url"),
        mustBe:
            "an address of at most 500 characters with a scheme, without a fragment, such as https://app.example.org/login or org.example.app:/login",
        """
        The page of the application that login links open, with the parameter `code` added; without it login mails contain only \
        digits.
        """
    ) { text in
        LogInURL.isFit(text) ? .some(text) : nil
    }.ofApplications

    package static func check(_ settings: SettingValues<MailSettings>) throws(ToolError) {
        switch settings.destination {
        case .off:
            guard settings.verification == .off else {
                throw .configuration("verification requires mail: set mail, or leave verification off.")
            }
            guard !settings.linkLogIn else {
                throw .configuration("magic-link requires mail: set mail, or leave magic-link off.")
            }
            return
        case .file: break
        case .server(let server):
            guard settings.security || server.security == .implicit || server.user == nil else {
                throw .configuration("mail-tls is off, and mail has a user: passwords are sent only over TLS.")
            }
            guard (server.user == nil) == (settings.password == nil) else {
                throw .configuration("The user in mail and mail-password must be set together, or not at all.")
            }
        }
        guard settings.from != nil else { throw .configuration("mail requires mail-from, the sender of mail.") }
        guard settings.publicURL != nil else {
            throw .configuration("mail requires public-url, for the links in mails.")
        }
    }
}

/// The base URL of links.
enum PublicURL {
    /// Parses a base URL and removes trailing slashes; nil if it has a query, a fragment, a user, or no host.
    static func read(_ text: String) -> String? {
        guard let scheme = ["https://", "http://"].first(where: { text.hasPrefix($0) }), text.utf8.count <= 500 else {
            return nil
        }
        var rest = text.dropFirst(scheme.count)
        while rest.last == "/" { rest.removeLast() }
        let isFit = rest.utf8.allSatisfy { isLetter($0) || isDigit($0) || ".-_~%/:[]".utf8.contains($0) }
        guard isFit, let first = rest.first, first != "/", first != ":" else { return nil }
        return scheme + rest
    }
}

/// The URL of log-in links.
enum LogInURL {
    /// Returns whether a query can be appended to the URL: a scheme and a rest, of characters that are safe in mail.
    static func isFit(_ text: String) -> Bool {
        guard text.utf8.count <= 500, let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return false }
        let scheme = text.utf8[..<colon]
        let lowerCase = UInt8(ascii: "a")...UInt8(ascii: "z")
        let isScheme = scheme.allSatisfy { lowerCase.contains($0) || isDigit($0) || "+-.".utf8.contains($0) }
        guard isScheme, let first = scheme.first, lowerCase.contains(first),
            !["javascript", "data", "vbscript"].contains(String(decoding: scheme, as: UTF8.self))
        else { return false }
        let rest = text.utf8[text.utf8.index(after: colon)...]
        return !rest.isEmpty
            && rest.allSatisfy { isLetter($0) || isDigit($0) || "-._~%/:[]?=&".utf8.contains($0) }
    }
}

extension SettingValues<MailSettings> {
    /// The SMTP server; nil if mail has another destination.
    package var server: SMTPServer? {
        if case .server(let server) = self.destination { completed(server) } else { nil }
    }

    private func completed(_ server: SMTPServer) -> SMTPServer {
        var server = server
        server.password = self.password
        server.certificates = self.certificates
        if server.security == .required, !self.security { server.security = .none }
        return server
    }

    /// Whether the application sends mail.
    package var isSent: Bool { self.destination != .off && self.from != nil && self.publicURL != nil }

    /// Returns an application's mail configuration; nil if it does not send mail.
    ///
    /// Throws ``ToolError`` for an invalid template or directory.
    package func configuration(of application: String) throws(ToolError) -> MailConfiguration? {
        guard let from = self.from, let publicURL = self.publicURL else { return nil }
        let transport: any MailTransport
        do throws(MailFailure) {
            switch self.destination {
            case .off: return nil
            case .file(let directory): transport = try FileMailTransport(directory: directory)
            case .server(let server): transport = try SMTPTransport(completed(server))
            }
        } catch {
            throw .failure(error.description)
        }
        let templates: MailTemplates
        do throws(MailTemplates.Fault) {
            if let directory = self.templates {
                templates = try MailTemplates(directory: directory, application: application)
            } else {
                templates = try MailTemplates()
            }
        } catch {
            throw .configuration("templates: \(error)")
        }
        return MailConfiguration(
            transport: transport,
            from: from,
            publicURL: publicURL,
            templates: templates,
            title: from.name ?? application,
            looks: try PageLooks(directory: self.templates, application: application),
            logInURL: self.linkLogInURL
        )
    }
}

extension PageLooks {
    /// Reads `style.css` and `logo.svg` or `logo.png` of an application's templates.
    ///
    /// Throws ``ToolError`` for a file that is unreadable or larger than 256 KB.
    fileprivate init(directory: String?, application: String) throws(ToolError) {
        self.init()
        guard let directory else { return }
        let files = contentsOfDirectory("\(directory)/\(application)") ?? []
        func bytes(_ name: String) throws(ToolError) -> [UInt8]? {
            guard files.contains(name) else { return nil }
            let bytes = try bytesOfFile("\(directory)/\(application)/\(name)")
            guard bytes.count <= 262_144 else {
                throw .configuration("templates: \(application)/\(name) is larger than 256 KB.")
            }
            return bytes
        }
        style = try bytes("style.css")
        for (name, type) in [("logo.svg", "image/svg+xml"), ("logo.png", "image/png")] where logo == nil {
            logo = try bytes(name).map { ($0, type) }
        }
    }
}
