import SkyrowModel

/// By what users log in, as far as it is counted.
package enum LogInMethod: String, Sendable, Hashable, CaseIterable {
    case password
    /// The second factor, after one of the others has ended with `SecondFactorRequired`.
    case factor
    /// A code of a mail.
    case link
    /// A provider's word: an id token, or a sign-in by way of the browser.
    case provider
    /// A token that a server of the application's own has signed.
    case customToken = "custom_token"
    /// `sso:oauth:login`
    case oauth

    var ordinal: Int { LogInMethod.allCases.firstIndex(of: self) ?? 0 }
}

/// In which layer a caller was refused.
package enum AccessLayer: String, Sendable, Hashable, CaseIterable {
    /// No key or token, or one that does not count.
    case credentials
    /// A scope that the key of the request lacks.
    case scope
    /// An action, a database, a type, or a record that may be read.
    case permission
    /// A field that may not be named or changed.
    case field

    var ordinal: Int { AccessLayer.allCases.firstIndex(of: self) ?? 0 }

    /// nil for an error that is no refusal.
    init?(_ error: SkyrowError) {
        switch error.code {
        case .permissionDenied: self = error.info["scope"] == nil ? .permission : .scope
        case .deniedArgument, .recordQueryDenied: self = .field
        default: return nil
        }
    }
}

/// What became of one-time codes, by what they are for.
struct CodeUse: Hashable {
    enum Kind: String, CaseIterable {
        case verify, reset, address, undo, link, invite
    }

    enum Outcome: String, CaseIterable {
        /// One was asked for, whether there is an account for it or not.
        case requested
        case accepted
        /// It was wrong, used, expired, or one guess too many.
        case refused
    }

    let kind: Kind
    let outcome: Outcome

    static let all = Kind.allCases.flatMap { kind in Outcome.allCases.map { CodeUse(kind, $0) } }

    var ordinal: Int { CodeUse.all.firstIndex(of: self) ?? 0 }

    /// nil for an action without a code, and for an end that says nothing about one.
    init?(_ action: ActionName, _ code: ErrorCode?) {
        let use: (kind: Kind, isRequest: Bool)
        switch action {
        case .authVerifyRequest: use = (.verify, true)
        case .authVerifyConfirm: use = (.verify, false)
        case .authResetRequest: use = (.reset, true)
        case .authResetConfirm: use = (.reset, false)
        case .authEmailChange: use = (.address, true)
        case .authEmailConfirm: use = (.address, false)
        case .authEmailUndo: use = (.undo, false)
        case .authLinkRequest: use = (.link, true)
        case .authLinkLogIn: use = (.link, false)
        case .authInvite: use = (.invite, true)
        default: return nil
        }
        kind = use.kind
        let isRequest = use.isRequest
        if code == nil {
            outcome = isRequest ? .requested : .accepted
        } else if isRequest {
            return nil
        } else if code == .secondFactorRequired {
            // The code is used up where a second factor is asked for besides.
            outcome = .accepted
        } else if code == .invalidToken || code == .rateLimited {
            outcome = .refused
        } else {
            return nil
        }
    }

    init(_ kind: Kind, _ outcome: Outcome) {
        self.kind = kind
        self.outcome = outcome
    }
}

extension ActionService {
    /// Runs an action by which a user logs in, and reports both to the observer.
    func observed<Success>(
        _ action: ActionName,
        as method: LogInMethod,
        _ body: () async throws(SkyrowError) -> Success
    ) async throws(SkyrowError) -> Success {
        try await observed(action) { () async throws(SkyrowError) in try await loggingIn(by: method, body) }
    }

    /// Runs what decides about a login, and reports to the observer how it ended.
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

    /// Reports the refusals among the outcomes of a batch.
    func noteRefusals(in outcomes: [RecordOutcome]) -> [RecordOutcome] {
        for case .failure(let error, _) in outcomes {
            if let layer = AccessLayer(error) { observe(.accessDenied(layer)) }
        }
        return outcomes
    }
}
