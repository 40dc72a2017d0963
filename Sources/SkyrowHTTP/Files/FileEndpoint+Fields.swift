import NIOHTTP1
import SkyrowActions
import SkyrowModel
import SkyrowProtocol

extension FileEndpoint {
    /// Responds to a request for the file in a field of a record.
    ///
    /// ```
    /// PUT    /files/records/note/9/photo    uploads a file and saves it in the field
    /// GET    /files/records/note/9/photo    the file
    /// DELETE /files/records/note/9/photo    clears the field
    /// ```
    func respond(
        to request: HTTPRequest,
        at path: FieldPath,
        _ query: Result<FileQuery, SkyrowError>,
        of actions: ActionService,
        from sender: Sender,
        id: RequestID
    ) async -> RequestOutcome {
        let head = request.head
        let subject: RequestSubject
        switch head.method {
        case .GET, .HEAD: subject = .download
        case .PUT: subject = .upload
        case .DELETE: subject = .action(Actions.recordSave.name)
        default: return .methodNotAllowed("GET, HEAD, PUT, DELETE, OPTIONS", in: .v1)
        }
        do throws(SkyrowError) {
            let (field, query) = try admitted(sender, by: actions) { () throws(SkyrowError) in
                let fields = try query.get()
                return (try path.field(in: fields.database), fields)
            }
            switch head.method {
            case .PUT:
                let upload = try admitted(sender, by: actions) { () throws(SkyrowError) in
                    try UploadRequest(head, name: "", field: field, query: query)
                }
                return try await self.upload(upload, request.body, to: actions, from: sender, id: id)
            case .DELETE:
                let precondition = try admitted(sender, by: actions) { () throws(SkyrowError) in
                    try SavePrecondition(head.headers)
                }
                try await actions.removeFile(from: field, precondition, from: sender, id: id)
                return RequestOutcome(HTTPResponse(status: .noContent), subject)
            default:
                return try await download(.field(field), for: head, query, of: actions, from: sender, id: id)
            }
        } catch {
            // Of the field If-Match (RFC 9110, 13.1.1).
            let isPrecondition = error.code == .conflict && head.headers.contains(name: "if-match")
            return .failure(error, in: .v1, status: isPrecondition ? .preconditionFailed : error.httpStatus, subject)
        }
    }
}
