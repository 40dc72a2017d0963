import SkyrowJSON
import SkyrowModel
import SkyrowProtocol
import SkyrowStore

extension ActionService {
    /// Upper bound on the bytes of a provider's id of a user.
    private static let maximumSubject = 255

    /// Logs in by a provider of a function server, or signs up where accounts may be made; the principal is the provider's id and its
    /// id of the user.
    ///
    /// Throws `108 InvalidArgument` for an unknown provider, `105 InvalidCredentials` if the provider refuses the data or no account
    /// may be made, and what the function server is not available with.
    func logIn(by request: FunctionProviderLogIn, _ call: Call) async throws(SkyrowError) -> AuthResult {
        guard let server = functions.registry.server(ofProvider: request.provider) else {
            throw .invalidArgument("This server has no login provider of this name.", "provider")
        }
        return try await loggingIn(by: .provider) { () async throws(SkyrowError) in
            let answer: FunctionAnswer
            do throws(SkyrowError) {
                answer = try await functions.call(
                    FunctionCall(
                        .provider(request.provider, authData: request.authData),
                        of: server,
                        context: functionContext(of: call)
                    ),
                    deadline: call.deadline
                )
            } catch  where error.isAboutFunctionServer {
                throw error
            } catch {
                // Its words are for the operator: they may say which accounts exist.
                throw .signInRefused
            }
            guard case .principal(let subject, let data) = answer,
                (1...Self.maximumSubject).contains(subject.utf8.count), !subject.hasNUL
            else { throw .unexpected }
            let identity = ProvenIdentity(
                provider: request.provider,
                subject: subject,
                profile: ProviderProfile.bounded(data)
            )
            var logIn = IdentityLogIn(identity, request.device, call)
            logIn.makesAccounts = configuration.accountLife.admitsSelfSignUp
            var result = try await self.logIn(logIn)
            // Skygear's result has no `is_new`.
            result.isNew = nil
            return result
        }
    }
}

extension SkyrowError {
    /// Whether the function server did not answer, rather than refuse.
    fileprivate var isAboutFunctionServer: Bool {
        [.pluginUnavailable, .pluginTimeout, .pluginInitializing, .overloaded, .responseTimeout].contains(code)
    }
}
