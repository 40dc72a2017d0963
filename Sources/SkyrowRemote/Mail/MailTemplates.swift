import SkyrowSystem

/// The purpose of a mail. Its templates are files of this name.
package enum MailKind: String, Hashable, Sendable, CaseIterable {
    /// A code that verifies an address.
    case verify
    /// A code that sets a new password.
    case reset
    /// A code that sets the first password of an invited user's account.
    case invite
    /// The notice that a code or an operator changed the password.
    case notice
    /// Digits that confirm a new address of the account.
    case email
    /// The reply to such a request if the address belongs to another account.
    case taken
    /// The notice of a new address, with a code that restores this one.
    case undo
    /// The notice of a new address.
    case address
    /// A code that logs in.
    case link

    /// Whether the mail needs its code.
    var hasCode: Bool { hasLink || hasDigits }

    /// Whether the link may contain a code.
    var hasLink: Bool {
        switch self {
        case .verify, .reset, .invite, .undo, .link: true
        case .notice, .email, .taken, .address: false
        }
    }

    /// Whether the mail contains digits.
    var hasDigits: Bool {
        switch self {
        case .verify, .reset, .invite, .email, .link: true
        case .notice, .taken, .undo, .address: false
        }
    }
}

/// The values that templates may name.
package struct MailValues: Hashable, Sendable {
    package var application: String
    package var address: String
    /// The link with the code; empty for a mail without a code.
    package var link: String
    /// The six digits; empty for a mail without a code.
    package var digits: String
    package var linkHours: Int
    package var digitsMinutes: Int

    package init(
        application: String,
        address: String,
        link: String = "",
        digits: String = "",
        linkHours: Int = 0,
        digitsMinutes: Int = 0
    ) {
        self.application = application
        self.address = address
        self.link = link
        self.digits = digits
        self.linkHours = linkHours
        self.digitsMinutes = digitsMinutes
    }

    enum Name: String, Hashable, Sendable, CaseIterable {
        case application, address, link, digits
        case linkHours = "link_hours"
        case digitsMinutes = "digits_minutes"
    }

    subscript(name: Name) -> String {
        switch name {
        case .application: application
        case .address: address
        case .link: link
        case .digits: digits
        case .linkHours: "\(linkHours)"
        case .digitsMinutes: "\(digitsMinutes)"
        }
    }
}

/// The texts of mails by language: those of the service, and those of an operator that replace them.
///
/// A directory has them as `<application>/<language>/<kind>.subject.mustache`, `.txt.mustache`, and optionally
/// `.html.mustache`.
package struct MailTemplates: Sendable {
    /// The templates of one mail.
    private struct Parts: Sendable {
        var subject: MailTemplate
        var text: MailTemplate
        var html: MailTemplate?
    }

    /// A mail without its sender and recipient.
    package struct Rendered: Hashable, Sendable {
        package var subject: String
        package var text: String
        package var html: String?
    }

    /// An error in a template; the description names the file.
    package struct Fault: Error, Hashable, CustomStringConvertible {
        package let description: String
    }

    package static let defaultLanguage = "en"

    private var languages: [String: [MailKind: Parts]]

    /// Makes the service's own texts.
    package init() throws(Fault) {
        var parts: [MailKind: Parts] = [:]
        for kind in MailKind.allCases {
            let own = MailTemplates.own(kind)
            parts[kind] = try MailTemplates.parts(kind, own.subject, own.text, html: nil, named: "\(kind.rawValue)")
        }
        languages = [MailTemplates.defaultLanguage: parts]
    }

    /// Makes the service's own texts, replaced by those of an application in a directory.
    ///
    /// Throws ``Fault`` for a file that is unreadable, is not a ``MailTemplate``, or has another name than a template,
    /// and for texts that lack the code or link of their kind.
    package init(directory: String, application: String) throws(Fault) {
        try self.init()
        let base = "\(directory)/\(application)"
        guard isDirectory(directory) else { throw Fault(description: "The directory \(directory) does not exist.") }
        // An application without a directory uses the service's texts.
        for language in (contentsOfDirectory(base) ?? []).sorted() where !language.hasPrefix(".") {
            let path = "\(base)/\(language)"
            // The files of pages are beside the languages.
            guard isDirectory(path) else { continue }
            guard MailTemplates.isLanguage(language) else {
                throw Fault(description: "\(path) is not named after a language, such as en or de-CH.")
            }
            for (kind, parts) in try MailTemplates.read(path) {
                languages[language.lowercased(), default: [:]][kind] = parts
            }
        }
    }

    /// Returns whether the text is a possible language tag: `de`, `pt-BR`.
    package static func isLanguage(_ text: String) -> Bool {
        let parts = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        return text.utf8.count <= 35
            && parts.allSatisfy { part in
                (1...8).contains(part.count)
                    && part.allSatisfy { byte in
                        (0x30...0x39).contains(byte) || (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte)
                    }
            }
    }

    /// Renders a mail in a language, else in that language without its region, else in English.
    package func render(_ kind: MailKind, language: String, _ values: MailValues) throws(Fault) -> Rendered {
        let wanted = language.lowercased()
        let candidates = [wanted, String(wanted.prefix { $0 != "-" }), MailTemplates.defaultLanguage]
        guard let parts = candidates.lazy.compactMap({ languages[$0]?[kind] }).first else {
            throw Fault(description: "The template for mails of the kind \(kind.rawValue) does not exist.")
        }
        guard let rendered = MailTemplates.render(parts, values) else {
            throw Fault(description: "A mail of the kind \(kind.rawValue) is too long.")
        }
        return rendered
    }

    /// Renders the parts; nil if one is too long.
    private static func render(_ parts: Parts, _ values: MailValues) -> Rendered? {
        guard var subject = parts.subject.render(values), let text = parts.text.render(values) else { return nil }
        // Files end with a line break.
        while subject.last?.isNewline == true { subject.removeLast() }
        guard let template = parts.html else { return Rendered(subject: subject, text: text) }
        guard let html = template.render(values) else { return nil }
        return Rendered(subject: subject, text: text, html: html)
    }

    // MARK: Reading

    private static func read(_ directory: String) throws(Fault) -> [MailKind: Parts] {
        let files = contentsOfDirectory(directory) ?? []
        var kinds: Set<MailKind> = []
        for file in files where !file.hasPrefix(".") {
            let words = file.split(separator: ".", omittingEmptySubsequences: false)
            guard words.count == 3, let kind = MailKind(rawValue: String(words[0])),
                ["subject", "txt", "html"].contains(words[1]), words[2] == "mustache"
            else {
                throw Fault(
                    description: "\(directory)/\(file) is not named after a template, such as reset.txt.mustache."
                )
            }
            kinds.insert(kind)
        }
        var all: [MailKind: Parts] = [:]
        for kind in kinds {
            let path = "\(directory)/\(kind.rawValue)"
            func text(_ part: String) throws(Fault) -> String? {
                files.contains("\(kind.rawValue).\(part).mustache") ? try self.text("\(path).\(part).mustache") : nil
            }
            guard let subject = try text("subject"), let plain = try text("txt") else {
                throw Fault(description: "\(path) needs both .subject.mustache and .txt.mustache.")
            }
            all[kind] = try parts(kind, subject, plain, html: text("html"), named: path)
        }
        return all
    }

    private static func text(_ path: String) throws(Fault) -> String {
        guard let bytes = try? bytesOfFile(path), let text = String(validating: bytes, as: UTF8.self) else {
            throw Fault(description: "\(path) cannot be read as UTF-8 text.")
        }
        return text
    }

    private static func parts(
        _ kind: MailKind,
        _ subject: String,
        _ text: String,
        html: String?,
        named path: String
    ) throws(Fault) -> Parts {
        let parts = Parts(
            subject: try template(subject, named: "\(path).subject.mustache"),
            text: try template(text, named: "\(path).txt.mustache"),
            html: try html.map { text throws(Fault) in
                try template(text, isHTML: true, named: "\(path).html.mustache")
            }
        )
        let example = MailValues(
            application: "Example",
            address: "ann@example.org",
            link: kind.hasLink ? "https://example.org/auth/code" : "",
            digits: kind.hasDigits ? "012345" : "",
            linkHours: 1,
            digitsMinutes: 15
        )
        guard let rendered = render(parts, example) else {
            throw Fault(description: "\(path) produces mails that are too long.")
        }
        guard !rendered.subject.isEmpty, !rendered.subject.isUnfitForHeaders else {
            throw Fault(description: "\(path).subject.mustache does not produce a subject of one line.")
        }
        guard
            !kind.hasCode
                || [rendered.text, rendered.html ?? rendered.text].allSatisfy({
                    $0.contains("example.org/auth/code") || $0.contains("012345")
                })
        else { throw Fault(description: "\(path) contains neither {{link}} nor {{digits}}.") }
        return parts
    }

    private static func template(_ text: String, isHTML: Bool = false, named path: String) throws(Fault) -> MailTemplate
    {
        do throws(MailTemplate.Fault) {
            return try MailTemplate(text, isHTML: isHTML)
        } catch {
            throw Fault(description: "\(path), line \(error.line): \(error.sentence)")
        }
    }

    private static func own(_ kind: MailKind) -> (subject: String, text: String) {
        switch kind {
        case .verify:
            (
                "Confirm your address for {{application}}",
                """
                This address was entered for an account at {{application}}. To confirm it, open this page within
                {{link_hours}} hours:

                {{link}}

                or enter this code within {{digits_minutes}} minutes:

                {{digits}}

                If this was not you, ignore this mail: the address will not be confirmed.
                """
            )
        case .reset:
            (
                "A new password for {{application}}",
                """
                A new password was requested for the account with this address at {{application}}. To choose one, open this page
                within an hour:

                {{link}}

                or enter this code within {{digits_minutes}} minutes:

                {{digits}}

                If this was not you, ignore this mail: the password will not change.
                """
            )
        case .invite:
            (
                "Your account for {{application}}",
                """
                An account at {{application}} was created for this address. To choose its password, open this page within
                {{link_hours}} hours:

                {{link}}

                If you did not expect this mail, ignore it: no one can log in to the account.
                """
            )
        case .notice:
            (
                "Your password for {{application}} was changed",
                """
                The password of your account at {{application}} was changed, and all devices were logged out.

                If this was not you, request a new password at once: a code will be sent to this address.
                """
            )
        case .email:
            (
                "Your new address for {{application}}",
                """
                This address was entered as the new address of an account at {{application}}. To confirm it, enter this code
                within {{digits_minutes}} minutes where you were asked for it:

                {{digits}}

                If this was not you, ignore this mail: the account keeps its current address.
                """
            )
        case .taken:
            (
                "You have an account for {{application}}",
                """
                Someone tried to use this address for another account at {{application}}. It already belongs to an account, so
                nothing was changed.

                If this was you, log in to that account, or request a new password.
                """
            )
        case .undo:
            (
                "The address of your account for {{application}} was changed",
                """
                The address of your account at {{application}} was changed, and other devices were logged out.

                If this was not you, open this page within seven days to recover the account:

                {{link}}
                """
            )
        case .address:
            (
                "The address of your account for {{application}} was changed",
                """
                The address of your account at {{application}} was changed, and other devices were logged out.

                If this was not you, contact the operator of {{application}}.
                """
            )
        case .link:
            (
                "Log in to {{application}}",
                """
                To log in to {{application}}, {{#link}}open this page on the same device within {{digits_minutes}} minutes:

                {{link}}

                or {{/link}}enter this code within {{digits_minutes}} minutes where you were asked for it:

                {{digits}}

                If this was not you, ignore this mail.
                """
            )
        }
    }
}
