import NIOCore
import NIOHTTP1
import SkyrowActions
import SkyrowModel
import SkyrowProtocol

/// The pages to which links in mails lead: plain HTML without scripts.
///
/// Mail scanners follow links, so GET shows a form and changes nothing. POST acts,
/// for a form that this service made within the last hour.
struct AccountPages: Sendable {
    /// Far more than the fields of a form have.
    private static let maximumBody = 16_384

    let applications: Applications

    /// Returns nil when the application of the host has no pages, since it sends no mail.
    func respond(
        to request: HTTPRequest,
        _ page: AccountPage,
        host: String?,
        from sender: Sender,
        id: RequestID
    ) async -> RequestOutcome? {
        guard let actions = await applications.actions(ofHost: host) else { return nil }
        if page == .style, actions.configuration.mail == nil, actions.hasBrowserSignIns {
            let style = Array(AccountPageText.style.utf8)
            return file(style, "text/css; charset=utf-8", request.head.method, of: actions)
        }
        guard let mail = actions.configuration.mail else { return nil }
        switch page {
        case .style:
            let style = mail.looks.style ?? Array(AccountPageText.style.utf8)
            return file(style, "text/css; charset=utf-8", request.head.method, of: actions)
        case .logo:
            guard let logo = mail.looks.logo else { return nil }
            return file(logo.bytes, logo.type, request.head.method, of: actions)
        case .verify, .reset, .undo:
            let visit = AccountPageVisit(
                page: page,
                actions: actions,
                client: sender.client,
                origin: sender.origin(of: id),
                text: AccountPageText(
                    page: page,
                    application: mail.title,
                    hasLogo: mail.looks.logo != nil,
                    minimumPasswordLength: actions.configuration.accounts.passwords.minimumLength
                )
            )
            switch request.head.method {
            case .GET, .HEAD: return await visit.show(uri: request.head.uri)
            case .POST:
                let body = request.body.bytes
                guard body.readableBytes <= Self.maximumBody else { return visit.failure(.incomplete) }
                return await visit.act(body)
            default: return .methodNotAllowed("GET, HEAD, POST", in: .v1)
            }
        }
    }

    private func file(
        _ bytes: [UInt8],
        _ type: String,
        _ method: HTTPMethod,
        of actions: ActionService
    ) -> RequestOutcome {
        guard method == .GET || method == .HEAD else { return .methodNotAllowed("GET, HEAD", in: .v1) }
        return .page(ByteBuffer(bytes: bytes), .ok, of: actions, type)
    }
}

extension Applications {
    /// Returns the actions of the application of a host; nil when the host has no application, or it cannot be opened.
    func actions(ofHost host: String?) async -> ActionService? {
        do throws(SkyrowError) {
            switch try find(key: nil, host: host) {
            case .open(let found): return found
            case .resting(let name): return try await open(name)
            }
        } catch {
            return nil
        }
    }
}

/// One request for a page with a form.
struct AccountPageVisit: Sendable {
    let page: AccountPage
    let actions: ActionService
    let client: ClientKey
    let origin: RequestOrigin
    let text: AccountPageText

    /// Prohibits loading from other origins, framing, and sending the page's address as a referrer.
    static let fields = [
        HTTPField(
            "content-security-policy",
            "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; "
                + "base-uri 'none'"
        ),
        HTTPField("referrer-policy", "no-referrer"),
    ]

    /// The message of a page that shows no details.
    enum Refusal: String {
        case incomplete = "This link is incomplete. Open the link in the mail, or request a new mail."
        case stale = "This form has expired. Try again."
        case different = "The two passwords differ. Try again."
        case code = "The code is not valid. Request a new one."
    }

    private var action: ActionDescription {
        switch page {
        case .reset: Actions.authResetConfirm.description
        case .undo: Actions.authEmailUndo.description
        case .verify, .style, .logo: Actions.authVerifyConfirm.description
        }
    }

    /// Returns the form, whether the code is valid or not.
    func show(uri: String) async -> RequestOutcome {
        do throws(SkyrowError) {
            try actions.admit(Credentials(), from: client)
            guard let code = Self.code(uri: uri) else { return failure(.incomplete) }
            return try await form(code, nil, status: .ok)
        } catch {
            return refused(error, code: nil)
        }
    }

    /// Uses the code of a submitted form.
    func act(_ body: ByteBuffer) async -> RequestOutcome {
        var code: String?
        do throws(SkyrowError) {
            try actions.admit(action, from: client, by: nil)
            guard let fields = FormFields(body.readableBytesView), let sent = fields["code"], Self.isCode(sent) else {
                return failure(.incomplete)
            }
            code = sent
            let token = fields["form"] ?? ""
            guard try await actions.acceptsForm(token, of: page.rawValue, code: sent) else {
                return try await form(sent, Refusal.stale.rawValue, status: .badRequest)
            }
            let confirmation = CodeConfirmation(code: sent)
            let call = Call(by: .anonymous, client: client, from: origin)
            switch page {
            case .reset:
                let password = fields["password"] ?? ""
                guard password.isSameText(as: fields["repeat"] ?? "") else {
                    return try await form(sent, Refusal.different.rawValue, status: .badRequest)
                }
                try await actions.resetPasswordOnPage(ResetConfirmation(code: confirmation, password: password), call)
                return finished(.done("The new password is set. You can log in with it now."), status: .ok)
            case .undo:
                try await actions.run(Actions.authEmailUndo, sent, call)
                return finished(
                    .done(
                        "The account has this address again. A mail with a link to choose a new password was sent to it."
                    ),
                    status: .ok
                )
            case .verify, .style, .logo:
                try await actions.run(Actions.authVerifyConfirm, confirmation, call)
                return finished(.done("The address is confirmed. You can close this page."), status: .ok)
            }
        } catch {
            switch error.code {
            case .invalidToken: return failure(.code, error.code)
            case .invalidArgument, .passwordPolicyViolated:
                guard let code, let again = try? await form(code, error.message, status: .badRequest) else {
                    return refused(error, code: code)
                }
                return again
            default: return refused(error, code: code)
            }
        }
    }

    /// The code in a link; nil when it has no well-formed one.
    private static func code(uri: String) -> String? {
        guard let code = FormFields(queryOf: uri)?["code"], isCode(code) else { return nil }
        return code
    }

    private static func isCode(_ text: String) -> Bool {
        (1...255).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }

    // MARK: Responding

    private func form(
        _ code: String,
        _ problem: String?,
        status: HTTPResponseStatus
    ) async throws(SkyrowError) -> RequestOutcome {
        let token = try await actions.formToken(of: page.rawValue, code: code)
        return outcome(text.html(problem.map { .retry($0) }, form: (code, token)), status: status)
    }

    private func finished(_ notice: AccountPageNotice, status: HTTPResponseStatus) -> RequestOutcome {
        outcome(text.html(notice, form: nil), status: status)
    }

    func failure(_ refusal: Refusal, _ code: ErrorCode? = nil) -> RequestOutcome {
        var outcome = finished(.failed(refusal.rawValue), status: .badRequest)
        outcome.error = code
        return outcome
    }

    private func refused(_ error: SkyrowError, code: String?) -> RequestOutcome {
        var outcome = finished(.failed(error.message), status: error.code.httpStatus)
        outcome.error = error.code
        outcome.addRetryTime(of: error)
        return outcome
    }

    private func outcome(_ html: String, status: HTTPResponseStatus) -> RequestOutcome {
        .page(ByteBuffer(string: html), status, of: actions)
    }
}

extension RequestOutcome {
    /// Creates the response with a page, or with a file that pages load.
    static func page(
        _ body: ByteBuffer,
        _ status: HTTPResponseStatus,
        of actions: ActionService,
        _ type: String = "text/html; charset=utf-8"
    ) -> RequestOutcome {
        let response = HTTPResponse(
            status: status,
            fields: AccountPageVisit.fields,
            contentType: .other(type),
            body: body
        )
        return RequestOutcome(response, .page, of: actions.application)
    }
}
