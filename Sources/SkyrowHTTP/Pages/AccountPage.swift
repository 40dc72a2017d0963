import SkyrowActions
import SkyrowJSON

/// The paths of the pages to which links in mails lead, and of their resources.
enum AccountPage: String, Hashable, Sendable, CaseIterable {
    case verify = "/auth/verify"
    case reset = "/auth/reset"
    case undo = "/auth/undo"
    case style = "/auth/style.css"
    case logo = "/auth/logo"
}

/// What a page shows besides its title and form.
enum AccountPageNotice: Hashable, Sendable {
    /// The operation succeeded, and the flow is complete.
    case done(String)
    /// The operation failed, and the form is shown for another attempt.
    case retry(String)
    /// The operation failed, and another attempt would fail too.
    case failed(String)
}

/// The HTML of a page: a document without scripts and with escaped texts.
struct AccountPageText: Sendable {
    let page: AccountPage
    let application: String
    let hasLogo: Bool
    let minimumPasswordLength: Int

    /// - Parameters:
    ///   - code: The code that the form sends back.
    ///   - token: The token that identifies the form. `form` is nil for a page without a form.
    func html(_ notice: AccountPageNotice?, form: (code: String, token: String)?) -> String {
        let title =
            switch page {
            case .reset: "Choose a new password"
            case .undo: "Recover your account"
            case .verify, .style, .logo: "Confirm your address"
            }
        var isFailure = false
        var body = ""
        switch notice {
        case nil: break
        case .done(let text):
            body += "<p role=\"status\">\(text.escapedForHTML)</p>\n"
        case .retry(let text), .failed(let text):
            isFailure = true
            body += "<p id=\"error\" role=\"alert\">\(text.escapedForHTML)</p>\n"
        }
        if let form { body += self.form(form.code, form.token, describedByError: isFailure) }
        return Self.document(
            title: title,
            application: application,
            isFailure: isFailure,
            body: body,
            logo: hasLogo ? "logo" : nil,
            style: "style.css"
        )
    }

    /// The first lines of every page, also of that at `/`.
    static let head = """
        <!DOCTYPE html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="robots" content="noindex">
        """

    /// Returns a complete document.
    ///
    /// - Parameters:
    ///   - body: The content, as HTML.
    ///   - logo: The address of the logo; nil for none.
    static func document(
        title: String,
        application: String,
        isFailure: Bool,
        body: String,
        logo: String?,
        style: String
    ) -> String {
        let logo = logo.map { "<img src=\"\($0)\" alt=\"\">\n" } ?? ""
        return """
            \(head)
            <title>\(isFailure ? "Error: " : "")\(title) – \(application.escapedForHTML)</title>
            <link rel="stylesheet" href="\(style)">
            </head>
            <body>
            <main>
            \(logo)<p class="application">\(application.escapedForHTML)</p>
            <h1>\(title)</h1>
            \(body)</main>
            </body>
            </html>

            """
    }

    private func form(_ code: String, _ token: String, describedByError: Bool) -> String {
        let error = describedByError ? " aria-describedby=\"error\"" : ""
        var fields = ""
        let button: String
        switch page {
        case .reset:
            button = "Set the password"
            for (name, label) in [("password", "New password"), ("repeat", "Repeat the new password")] {
                fields += """
                    <label for="\(name)">\(label)</label>
                    <input id="\(name)" name="\(name)" type="password" autocomplete="new-password" required \
                    minlength="\(minimumPasswordLength)"\(error)>

                    """
            }
            fields += "<p>At least \(minimumPasswordLength) characters. All devices will be logged out.</p>\n"
        case .undo:
            button = "Undo the change"
            fields += """
                <p>The account gets this address back. All devices will be logged out, and you will receive a mail with a link \
                to choose a new password.</p>

                """
        case .verify, .style, .logo:
            button = "Confirm"
            fields += "<p>Confirm that this mail address is yours.</p>\n"
        }
        return """
            <form method="post">
            <input type="hidden" name="code" value="\(code.escapedForHTML)">
            <input type="hidden" name="form" value="\(token.escapedForHTML)">
            \(fields)<button type="submit">\(button)</button>
            </form>

            """
    }

    /// The default style sheet, which an operator may replace.
    static let style = """
        :root { color-scheme: light dark; }
        body { margin: 0; font: 1rem/1.5 system-ui, sans-serif; }
        main { box-sizing: border-box; max-width: 26rem; margin: 0 auto; padding: 1.5rem 1rem; overflow-wrap: anywhere; }
        img { max-width: 8rem; max-height: 4rem; }
        h1 { font-size: 1.4rem; line-height: 1.2; }
        .application { margin: 0; }
        label { display: block; margin-top: 1rem; }
        input[type="password"], button { box-sizing: border-box; width: 100%; font: inherit; padding: 0.6rem; margin-top: 0.25rem; }
        button { margin-top: 1rem; }
        [role="alert"] { border-left: 0.3rem solid; padding-left: 0.7rem; font-weight: bold; }

        """
}
