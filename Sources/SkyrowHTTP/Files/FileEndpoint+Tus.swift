import NIOHTTP1
import SkyrowActions
import SkyrowJSON
import SkyrowModel
import SkyrowProtocol

/// Uploads that may be interrupted and continued (tus 1.0.0), with the rules of all uploads.
extension FileEndpoint {
    /// The fields of a response to `OPTIONS` at the path of uploads; none for another path.
    func tusFields(of head: HTTPRequestHead) -> [HTTPField] {
        guard case .files(let name) = Route(uri: head.uri), TusRequest.Path(name) != nil,
            case .open(let actions)? = application(of: head), actions.configuration.files != nil
        else { return [] }
        return [
            .tusVersion,
            HTTPField("tus-version", TusRequest.version),
            HTTPField("tus-extension", TusRequest.extensions),
            HTTPField("tus-max-size", "\(actions.maximumFile)"),
            HTTPField("tus-checksum-algorithm", TusChecksum.algorithms),
        ]
    }

    /// Whether a response belongs to an upload that may be interrupted.
    static func isTus(_ head: HTTPRequestHead) -> Bool {
        guard case .files(let name) = Route(uri: head.uri) else { return false }
        return tusPath(head.method, name) != nil
    }

    /// Returns the path of a request that is one of tus; nil for another one, such as the upload of a file that has the name `tus`.
    static func tusPath(_ method: HTTPMethod, _ name: Substring) -> TusRequest.Path? {
        method == .PUT || method == .GET ? nil : TusRequest.Path(name)
    }

    func tus(
        _ path: TusRequest.Path,
        _ request: HTTPRequest,
        of actions: ActionService,
        from sender: Sender,
        id: RequestID
    ) async -> RequestOutcome {
        var outcome: RequestOutcome
        do throws(SkyrowError) {
            let described = try admitted(sender, by: actions) { () throws(SkyrowError) in
                try TusRequest(method: request.head.method.rawValue, path) { request.head.headers[$0] }
            }
            if let described {
                outcome = try await perform(described, request, of: actions, from: sender, id: id)
            } else {
                outcome = .methodNotAllowed(path.methods, in: .v1)
            }
        } catch {
            outcome = .failure(error, .upload)
            if case .version? = TusRefusal(error) {
                outcome.response.fields.append(HTTPField("tus-version", TusRequest.version))
            }
        }
        outcome.response.fields.append(.tusVersion)
        return outcome
    }

    private func perform(
        _ described: TusRequest,
        _ request: HTTPRequest,
        of actions: ActionService,
        from sender: Sender,
        id: RequestID
    ) async throws(SkyrowError) -> RequestOutcome {
        switch described {
        case .create(let length, let metadata, let checksum, let hasPart):
            let part = hasPart ? part(of: request, checksum, for: actions) : .empty
            let status = try await actions.createUpload(length: length, metadata, part, from: sender, id: id)
            let location = HTTPField("location", "/files/tus/\(status.id)")
            return .upload(status, .created, [location])
        case .status(let upload):
            let status = try await actions.uploadStatus(upload, from: sender, id: id)
            var fields = [HTTPField("upload-length", "\(status.length)")]
            if !status.metadata.isEmpty { fields.append(HTTPField("upload-metadata", status.metadata)) }
            return .upload(status, .ok, fields)
        case .append(let upload, let offset, let checksum):
            let part = part(of: request, checksum, for: actions)
            let status = try await actions.continueUpload(upload, at: offset, part, from: sender, id: id)
            return .upload(status, .noContent)
        case .remove(let upload):
            try await actions.removeUpload(upload, from: sender, id: id)
            return RequestOutcome(HTTPResponse(status: .noContent), .upload)
        }
    }

    private func part(
        of request: HTTPRequest,
        _ checksum: TusChecksum?,
        for actions: ActionService
    ) -> UploadPart {
        let parts = UploadParts(of: request.body, maximum: actions.maximumFile, limits: limits)
        // A number that does not fit exceeds every limit.
        let length = request.head.headers["content-length"].first.map { Int64($0) ?? .max }
        return UploadPart(length: length, checksum: checksum) { append async throws(SkyrowError) in
            var parts = parts
            while let bytes = try await parts.next() { try await append(bytes) }
        }
    }
}

extension HTTPField {
    /// The field of every response of an upload that may be interrupted.
    static let tusVersion = HTTPField("tus-resumable", TusRequest.version)
}

extension RequestOutcome {
    /// The response to a request that has written an upload, or asked for it.
    fileprivate static func upload(
        _ upload: UploadStatus,
        _ status: HTTPResponseStatus,
        _ fields: [HTTPField] = []
    ) -> RequestOutcome {
        let seconds = (upload.expiresAt.microseconds + Timestamp.unixEpochOffset) / 1_000_000
        var response = HTTPResponse(
            status: status,
            fields: fields + [
                HTTPField("upload-offset", "\(upload.offset)"),
                HTTPField("upload-expires", HTTPDate.text(second: Int(seconds))),
            ]
        )
        if let uploaded = upload.uploaded {
            let writer = JSONWriter(capacity: 512)
            uploaded.write(to: writer)
            let text = writer.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
            response.fields.append(HTTPField("x-skyrow-asset", text))
        }
        return RequestOutcome(response, .upload, userID: upload.uploaded?.asset.owner)
    }
}
