import SkyrowModel
import SkyrowProtocol

/// How users log in, as far as it is counted.
package enum LogInMethod: String, Sendable, Hashable, CaseIterable {
    case password
    /// The second factor, after another method has ended with `SecondFactorRequired`.
    case factor
    /// A code from a mail.
    case link
    /// A provider's assertion: an ID token, or a sign-in through the browser.
    case provider
    /// A token signed by a server of the application.
    case customToken = "custom_token"
    /// `sso:oauth:login`
    case oauth

    var ordinal: Int { LogInMethod.allCases.firstIndex(of: self) ?? 0 }
}

/// The layer that refused a caller.
package enum AccessLayer: String, Sendable, Hashable, CaseIterable {
    /// A missing or invalid key or token.
    case credentials
    /// A scope that the request's key lacks.
    case scope
    /// An action, a database, a type, or a record that may be read.
    case permission
    /// A field that the caller may not name or change.
    case field

    var ordinal: Int { AccessLayer.allCases.firstIndex(of: self) ?? 0 }

    /// nil for an error that is not a refusal.
    init?(_ error: SkyrowError) {
        switch error.code {
        case .permissionDenied: self = error.info["scope"] == nil ? .permission : .scope
        case .deniedArgument, .recordQueryDenied: self = .field
        default: return nil
        }
    }
}

/// An outcome of one-time codes of one purpose.
struct CodeUse: Hashable {
    enum Kind: String, CaseIterable {
        case verify, reset, address, undo, link, invite
    }

    enum Outcome: String, CaseIterable {
        /// A code was requested, whether there is an account for it or not.
        case requested
        case accepted
        /// The code was wrong, used or expired, or there were too many guesses.
        case refused
    }

    let kind: Kind
    let outcome: Outcome

    static let all = Kind.allCases.flatMap { kind in Outcome.allCases.map { CodeUse(kind, $0) } }

    var ordinal: Int { CodeUse.all.firstIndex(of: self) ?? 0 }

    /// nil for an action without a code, and for an error that is not about one.
    ///
    /// - Parameter action: its index among all actions.
    init?(_ action: Int, _ code: ErrorCode?) {
        guard let use = CodeUse.actions[action] else { return nil }
        kind = use.kind
        let isRequest = use.isRequest
        if code == nil {
            outcome = isRequest ? .requested : .accepted
        } else if isRequest {
            return nil
        } else if code == .secondFactorRequired {
            // The code is used up when a second factor is required in addition.
            outcome = .accepted
        } else if code == .invalidToken || code == .rateLimited {
            outcome = .refused
        } else {
            return nil
        }
    }

    /// The uses of all actions, since each call looks for one.
    private static let actions = ActionTable.all.map { names[$0.description.name] }

    private static let names: [ActionName: (kind: Kind, isRequest: Bool)] = [
        Actions.authVerifyRequest.name: (.verify, true),
        Actions.authVerifyConfirm.name: (.verify, false),
        Actions.authResetRequest.name: (.reset, true),
        Actions.authResetConfirm.name: (.reset, false),
        Actions.authEmailChange.name: (.address, true),
        Actions.authEmailConfirm.name: (.address, false),
        Actions.authEmailUndo.name: (.undo, false),
        Actions.authLinkRequest.name: (.link, true),
        Actions.authLinkLogIn.name: (.link, false),
        Actions.authInvite.name: (.invite, true),
    ]

    init(_ kind: Kind, _ outcome: Outcome) {
        self.kind = kind
        self.outcome = outcome
    }
}

extension ActionService {
    /// Runs the decision about a login, and emits its outcome.
    func loggingIn<Success>(
        by method: LogInMethod,
        _ body: () async throws(SkyrowError) -> Success
    ) async throws(SkyrowError) -> Success {
        do throws(SkyrowError) {
            let success = try await body()
            observe(.loggedIn(method, nil))
            return success
        } catch {
            observe(.loggedIn(method, error.code))
            throw error
        }
    }

    /// Emits the refusals among the outcomes of a batch.
    func noteRefusals(in outcomes: [RecordOutcome]) -> [RecordOutcome] {
        for case .failure(let error, _) in outcomes {
            if let layer = AccessLayer(error) { observe(.accessDenied(layer)) }
        }
        return outcomes
    }
}
