import NIOCore
import NIOHTTP1
import SkyrowActions
import SkyrowJSON
import SkyrowModel
import SkyrowProtocol

/// The Skygear v1 envelope: `POST /` with the action in the body, or `POST /record/save` with the action in the path.
///
/// As in Skygear 1.7.3, the path takes precedence over the body, the method does not matter, and a request for `/` that names no
/// action gets the home response. There, any other unknown path got it too, so that a misspelled call seemed to succeed; here it
/// is an error. For unreadable JSON that server sent an empty body; this one sends an error envelope.
struct SkygearEndpoint: Sendable {
    private enum Step: Sendable {
        case action(PreparedCall, ActionRunner)
        /// The application of the key in the body must be opened first.
        case resting(ApplicationName)
        /// No action was named, or `_status:healthz` was.
        case home
        case failure(SkyrowError)
    }

    func respond(
        to body: ByteBuffer,
        path: Substring,
        of applications: ApplicationFinder,
        from sender: Sender,
        context: RequestContext
    ) async -> RequestOutcome {
        var step = read(body, path: path, from: sender) { applications.find($0) }
        if case .resting(let name) = step {
            let opened = await applications.opened(name)
            step = read(body, path: path, from: sender) { _ in .ready(opened) }
        }
        switch await counted(step, of: applications, from: sender) {
        case .home:
            return RequestOutcome(SkygearEndpoint.home, .home)
        case .resting:
            return .failure(.unopened, in: .v1, status: .serviceUnavailable, .unknown)
        case .failure(let error):
            return .failure(error.spelledForV1, in: .v1, status: error.code.httpStatus, .unknown)
        case .action(let call, let runner):
            let outcome = await runner.run(call, context: context)
            let subject = RequestSubject.action(call.name)
            let result = outcome.result.mapError(\.spelledForV1)
            let text = ResponseText(
                result,
                of: call.description,
                in: .v1,
                account: context.account,
                links: runner.service.links
            )
            var status = text.error?.code.httpStatus ?? .ok
            if outcome.isRefused, let error = outcome.error {
                status = SkygearEndpoint.status(refusal: error.code, requirement: call.description.requirement)
            }
            var response = RequestOutcome(
                HTTPResponse(status: status, body: text.body),
                subject,
                of: runner.service.application,
                error: text.error?.code,
                userID: outcome.userID
            )
            if let error = text.error { response.addRetryTime(of: error) }
            response.response.hold(context.account)
            return response
        }
    }

    /// Counts a request without an action as a call; actions are counted when they are prepared.
    private func counted(_ step: Step, of applications: ApplicationFinder, from sender: Sender) async -> Step {
        if case .action = step { return step }
        do throws(SkyrowError) {
            try await applications.runner(sender.credentials).admit(sender)
            return step
        } catch {
            return .failure(error)
        }
    }

    // MARK: - Reading

    private typealias Find = (Credentials) -> ApplicationFinder.Found

    /// - Parameter find: Finds the application of these credentials.
    private func read(_ body: ByteBuffer, path: Substring, from sender: Sender, _ find: Find) -> Step {
        body.withUnsafeReadableBytes { bytes in
            do throws(JSONParseError) {
                // An empty body means an empty object.
                return try JSONDocument.read(bytes.isEmpty ? .emptyJSONObject : bytes) {
                    read($0, path: path, from: sender, find)
                }
            } catch {
                return .failure(SkyrowError(unreadable: error))
            }
        }
    }

    private func read(_ root: JSONView, path: Substring, from sender: Sender, _ find: Find) -> Step {
        do throws(SkyrowError) {
            return try read(V1Request(root), path: path, from: sender, find)
        } catch {
            return .failure(error)
        }
    }

    private func read(
        _ request: V1Request,
        path: Substring,
        from sender: Sender,
        _ find: Find
    ) throws(SkyrowError) -> Step {
        var sender = sender
        sender.credentials = Credentials(
            key: sender.credentials.key ?? request.credentials.key,
            accessToken: sender.credentials.accessToken ?? request.credentials.accessToken,
            actingUserID: request.credentials.actingUserID,
            admitsMasterKey: sender.credentials.admitsMasterKey,
            address: sender.credentials.address
        )
        var suggestion: String?
        for name in [SkygearEndpoint.actionName(path: path), request.action].compactMap(\.self) {
            if name == "_status:healthz" { return .home }
            let known = SkygearLambda.call(name, request.parameters)
            switch find(sender.credentials) {
            case .resting(let application): return .resting(application)
            case .ready(let runner):
                if let (action, parameters) = known {
                    let call = runner.prepare(
                        action,
                        from: sender,
                        parameters: parameters,
                        rules: .v1,
                        in: SkygearLambda.isOfSkygear(action.description.name) ? nil : .v1
                    )
                    return .action(call, runner)
                }
                if let function = runner.function(v1: name) {
                    let parameters = request.parameters
                    return .action(
                        runner.prepare(function, from: sender, parameters: parameters, rules: .v1, in: nil),
                        runner
                    )
                }
                suggestion = runner.suggestion(for: name)
            }
        }
        if let suggestion {
            throw SkyrowError(.undefinedOperation, "The action does not exist\(suggestion).")
        }
        return .home
    }

    /// Returns the action of a path; `record/save` names `record:save`.
    static func actionName(path: Substring) -> String? {
        path.isEmpty ? nil : String(path.map { $0 == "/" ? ":" : $0 })
    }

    // MARK: - Responding

    /// Skygear's checks before an action have their own status: a caller who is not an administrator gets 401, not 403.
    private static func status(refusal code: ErrorCode, requirement: ActionRequirement) -> HTTPResponseStatus {
        switch requirement {
        case .administrator: code == .permissionDenied ? .unauthorized : code.httpStatus
        case .nothing, .key, .keyOrToken, .user, .userOrMaster, .master, .masterOrDevelopment: code.httpStatus
        }
    }

    private static let home = HTTPResponse(status: .ok, body: ByteBuffer(staticString: #"{"result":{"status":"OK"}}"#))
}

extension SkyrowError {
    fileprivate static let unopened = SkyrowError(.overloaded, "The application is not ready; try again in a moment.")

    /// The error in Skygear's form: the name of an unreadable list is a plain string beside the list's errors.
    fileprivate var spelledForV1: SkyrowError {
        var error = ofSkygear
        guard info["errors"] != nil, case .list(let arguments)? = info["arguments"], arguments.count == 1 else {
            return error
        }
        error.info["arguments"] = arguments[0]
        return error
    }
}
