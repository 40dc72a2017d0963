import Logging
import NIOHTTP1
import SkyrowActions
import SkyrowModel
import SkyrowProtocol

/// Responds to the paths of files: uploads by form, `PUT` and `POST`, downloads, and the files in fields of records.
///
/// ```
/// POST /files/<name>          a form; the file of asset:put
/// PUT  /files/cat.png         the file as the body; as old clients of Skygear send it
/// POST /files?filename=cat.png
/// GET  /files/<name>?expiredAt=1549522000&signature=…
/// PUT  /files/records/note/9/photo
/// POST /files/tus   and what FileEndpoint+Tus responds to
/// ```
///
/// Names are parsed and never joined with a path. The sender and the target of an upload are judged by its head; only then is
/// the body read, part by part, as fast as the storage takes it.
struct FileEndpoint: Sendable {
    /// The bytes that a form may have besides those of its file.
    private static let formAllowance = 2 * UploadForm.maximumIgnored

    let applications: Applications
    let limits: HTTPLimits
    let logger: Logger

    /// - Parameter name: what follows `/files/` in the path, not decoded.
    /// - Returns: nil where the application has no files.
    func respond(
        to request: HTTPRequest,
        name: Substring,
        headers: RequestHeaders,
        from sender: Sender,
        context: RequestContext
    ) async -> RequestOutcome? {
        await RequestTrace.$current.withValue(context) {
            await respond(to: request, name, headers, sender, context)
        }
    }

    private func respond(
        to request: HTTPRequest,
        _ name: Substring,
        _ headers: RequestHeaders,
        _ sender: Sender,
        _ context: RequestContext
    ) async -> RequestOutcome? {
        let head = request.head
        let isUpload = FileEndpoint.isUpload(head.method)
        let subject: RequestSubject = isUpload ? .upload : .download
        let query = Result { () throws(SkyrowError) in try FileQuery(of: head.uri) }
        let actions: ActionService
        do throws(SkyrowError) {
            switch try application(headers, try? query.get()) {
            case .open(let open): actions = open
            case .resting(let name): actions = try await applications.open(name)
            }
        } catch {
            return counted(.failure(error, subject), sender, by: applications.default)
        }
        guard actions.configuration.files != nil else { return nil }
        if let path = FieldPath(name) {
            var outcome = await respond(to: request, at: path, query, of: actions, from: sender, id: context.id)
            outcome.application = actions.application
            return outcome
        }
        if let path = FileEndpoint.tusPath(head.method, name) {
            var outcome = await tus(path, request, of: actions, from: sender, id: context.id)
            outcome.application = actions.application
            return outcome
        }
        guard FileEndpoint.admits(head.method, name) else {
            let allowed = name.isEmpty ? "POST, OPTIONS" : "GET, HEAD, POST, PUT, OPTIONS"
            return .methodNotAllowed(allowed, in: .v1)
        }
        var outcome: RequestOutcome
        do throws(SkyrowError) {
            if isUpload {
                let description = try admitted(sender, by: actions) { () throws(SkyrowError) in
                    try UploadRequest(head, name: name, query: query.get())
                }
                outcome = try await upload(description, request.body, to: actions, from: sender, id: context.id)
            } else {
                let (name, query) = try admitted(sender, by: actions) { () throws(SkyrowError) in
                    guard let name = AssetName(name) else { throw .fileNotFound }
                    return (name, try query.get())
                }
                let source = DownloadSource.file(name, query.signature)
                outcome = try await download(source, for: head, query, of: actions, from: sender, id: context.id)
            }
        } catch {
            outcome = .failure(error, subject)
        }
        outcome.application = actions.application
        return outcome
    }

    private static func isUpload(_ method: HTTPMethod) -> Bool { method == .POST || method == .PUT || method == .PATCH }

    private static func admits(_ method: HTTPMethod, _ name: Substring) -> Bool {
        switch method {
        case .POST: true
        case .GET, .HEAD, .PUT: !name.isEmpty
        default: false
        }
    }

    // MARK: - Judging a head

    /// Returns how the body of an upload is read; nil for another request.
    func bodyMode(of head: HTTPRequestHead) -> RequestBodyMode? {
        guard let name = FileEndpoint.uploadName(of: head) else { return nil }
        // The body is not read before it is known how long it may be.
        guard case .open(let actions)? = application(of: head) else { return .streamed(limit: .max) }
        guard actions.configuration.files != nil else { return nil }
        let isForm = head.method == .POST && !name.isEmpty && FileEndpoint.tusPath(head.method, name) == nil
        let allowance = isForm ? FileEndpoint.formAllowance : 0
        return .streamed(limit: min(actions.maximumFile, .max - allowance) + allowance)
    }

    /// Judges the sender of an upload by the signature of its address; nil for another request, whose key or token counts.
    func standing(of head: HTTPRequestHead) -> RequestStanding? {
        guard head.method == .POST, let name = FileEndpoint.uploadName(of: head).flatMap({ AssetName($0) }),
            let signature = (try? FileQuery(of: head.uri))?.signature
        else { return nil }
        // Without the key, which may have to be read first, the action decides, before a byte of the body is read.
        guard case .open(let actions)? = application(of: head), actions.uploadIsSigned(name, signature) else {
            return .unverified
        }
        return .accepted
    }

    /// Returns the bytes that a file of this request may have; nil for a request without a file.
    func maximum(of head: HTTPRequestHead) -> Int? {
        guard FileEndpoint.uploadName(of: head) != nil, case .open(let actions)? = application(of: head),
            actions.configuration.files != nil
        else { return nil }
        return actions.maximumFile
    }

    private static func uploadName(of head: HTTPRequestHead) -> Substring? {
        // Most requests are calls of actions.
        guard isUpload(head.method), head.uri != "/rpc", case .files(let name) = Route(uri: head.uri) else {
            return nil
        }
        return name
    }

    func application(of head: HTTPRequestHead) -> Applications.Found? {
        try? application(RequestHeaders(head.headers), try? FileQuery(of: head.uri))
    }

    /// Finds the application by key and host, or else by the query of a signed address.
    private func application(_ headers: RequestHeaders, _ query: FileQuery?) throws(SkyrowError) -> Applications.Found {
        let found = try applications.find(key: headers.key, host: headers.host)
        guard headers.key == nil, let name = query?.application, case .open(let actions) = found,
            actions.application == .default
        else { return found }
        return try applications.find(name) ?? found
    }

    // MARK: - Limiting the rate

    /// Counts a request that fails by its head; the actions count all others.
    func admitted<Value>(
        _ sender: Sender,
        by actions: ActionService,
        _ read: () throws(SkyrowError) -> Value
    ) throws(SkyrowError) -> Value {
        do {
            return try read()
        } catch {
            try actions.admit(sender.credentials, from: sender.client)
            throw error
        }
    }

    private func counted(_ outcome: RequestOutcome, _ sender: Sender, by actions: ActionService?) -> RequestOutcome {
        do throws(SkyrowError) {
            try actions?.admit(sender.credentials, from: sender.client)
            return outcome
        } catch {
            return .failure(error, outcome.subject)
        }
    }
}

extension RequestOutcome {
    /// The failure of an upload or a download.
    static func failure(_ error: SkyrowError, _ subject: RequestSubject) -> RequestOutcome {
        failure(error, in: .v1, status: error.httpStatus, subject)
    }
}
