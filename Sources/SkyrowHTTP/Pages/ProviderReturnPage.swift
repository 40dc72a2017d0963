import NIOCore
import NIOHTTP1
import SkyrowActions
import SkyrowJSON
import SkyrowModel
import SkyrowProtocol

/// The page to which identity providers redirect users; it redirects the browser to the application.
///
/// A request has an effect only with the state of a pending sign-in, which is 256 random bits.
struct ProviderReturnPage: Sendable {
    static let prefix = "/auth/callback/"
    /// Far more than providers send.
    private static let maximumBody = 16_384

    let applications: Applications

    /// Returns nil when the application of the host has no such provider.
    func respond(
        to request: HTTPRequest,
        from name: String,
        host: String?,
        _ client: ClientKey
    ) async -> RequestOutcome? {
        guard let actions = await applications.actions(ofHost: host) else { return nil }
        let fields: FormFields?
        switch request.head.method {
        case .GET: fields = FormFields(queryOf: request.head.uri)
        // Apple makes browsers send a form.
        case .POST:
            let body = request.body.bytes
            fields = body.readableBytes <= Self.maximumBody ? FormFields(body.readableBytesView) : nil
        default: return .methodNotAllowed("GET, POST", in: .v1)
        }
        do throws(SkyrowError) {
            try actions.admit(Credentials(), from: client)
            let response = AuthorizationResponse { fields?[$0] }
            guard let outcome = try await actions.returned(from: name, response) else { return nil }
            switch outcome {
            case .redirect(let address): return Self.redirect(to: address, of: actions)
            case .unknown:
                return Self.failure(
                    "This sign-in has expired or was already used. Go back to the application and start again.",
                    .badRequest,
                    .invalidToken,
                    of: actions
                )
            case .busy:
                let error = SkyrowError(
                    .overloaded,
                    "The provider is slow at the moment. Reload this page in a minute."
                )
                return Self.failure(error.message, error.code.httpStatus, error.code, of: actions)
            }
        } catch {
            var outcome = Self.failure(error.message, error.code.httpStatus, error.code, of: actions)
            outcome.addRetryTime(of: error)
            return outcome
        }
    }

    /// The link is for browsers that open an application only on a user's request.
    private static func redirect(to address: String, of actions: ActionService) -> RequestOutcome {
        let link = address.escapedForHTML
        var outcome = page("<p><a href=\"\(link)\">Continue to the application</a></p>\n", .seeOther, of: actions)
        outcome.response.fields.append(HTTPField("location", address))
        return outcome
    }

    private static func failure(
        _ text: String,
        _ status: HTTPResponseStatus,
        _ code: ErrorCode,
        of actions: ActionService
    ) -> RequestOutcome {
        let text = text.escapedForHTML
        var outcome = page("<p id=\"error\" role=\"alert\">\(text)</p>\n", status, of: actions, isFailure: true)
        outcome.error = code
        return outcome
    }

    private static func page(
        _ body: String,
        _ status: HTTPResponseStatus,
        of actions: ActionService,
        isFailure: Bool = false
    ) -> RequestOutcome {
        let mail = actions.configuration.mail
        let html = AccountPageText.document(
            title: "Sign-in",
            application: mail?.title ?? actions.application.rawValue,
            isFailure: isFailure,
            body: body,
            logo: mail?.looks.logo == nil ? nil : "../logo",
            style: "../style.css"
        )
        return .page(ByteBuffer(string: html), status, of: actions)
    }
}
