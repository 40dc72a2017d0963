import NIOCore
import NIOHTTP1
import SkyrowActions
import SkyrowJSON
import SkyrowModel
import SkyrowProtocol

extension FileEndpoint {
    /// Stores the file of a body that the caller may send.
    func upload(
        _ request: UploadRequest,
        _ body: RequestBody,
        to actions: ActionService,
        from sender: Sender,
        id: RequestID
    ) async throws(SkyrowError) -> RequestOutcome {
        let upload = try await actions.beginUpload(
            request.target,
            length: request.length,
            from: sender,
            id: id,
            hashesMD5: request.checks.md5 != nil
        )
        do {
            let parts = UploadParts(of: body, maximum: actions.maximumFile, limits: limits)
            var checks = request.checks
            checks.contentType = try await receive(parts, request.form) { part async throws(SkyrowError) in
                try await upload.append(part)
            }
            return .uploaded(try await upload.finish(checks), isNew: request.isDirect && !upload.replacesFile)
        } catch {
            // A task that is not cancelled with the request of a client that has left.
            await Task { await upload.discard() }.value
            throw error
        }
    }

    /// Reads the file of a body; returns the type that its form states.
    ///
    /// - Parameter append: Takes the next bytes of the file.
    private func receive(
        _ parts: UploadParts,
        _ form: MultipartReader?,
        append: ([UInt8]) async throws(SkyrowError) -> Void
    ) async throws(SkyrowError) -> String? {
        var parts = parts
        guard var reader = form else {
            while let part = try await parts.next() {
                try await append(part)
            }
            return nil
        }
        var state = UploadForm()
        while let part = try await parts.next() {
            for event in try events(&reader, part) {
                if let bytes = try state.receive(event) { try await append(bytes) }
            }
        }
        do throws(MultipartFault) {
            try reader.finish()
        } catch {
            throw SkyrowError(error)
        }
        guard state.hasFile else { throw SkyrowError(.badRequest, "The form has no part \"file\".") }
        return state.contentType
    }

    private func events(
        _ reader: inout MultipartReader,
        _ part: [UInt8]
    ) throws(SkyrowError) -> [MultipartReader.Event] {
        do throws(MultipartFault) {
            return try reader.read(part)
        } catch {
            throw SkyrowError(error)
        }
    }
}

extension SkyrowError {
    fileprivate init(_ fault: MultipartFault) {
        self.init(.badRequest, fault.message)
    }
}

extension RequestOutcome {
    /// - Parameter isNew: Whether the request has created what it names, so that its client does not know the path.
    fileprivate static func uploaded(_ uploaded: UploadedAsset, isNew: Bool) -> RequestOutcome {
        let writer = JSONWriter(capacity: 512)
        writer.response(ResultWriter { uploaded.write(to: $0) }, in: .v1)
        var response = HTTPResponse(status: .ok, body: ByteBuffer(writer))
        if isNew {
            response.status = .created
            response.fields.append(HTTPField("location", "/files/\(uploaded.asset.name)"))
        }
        return RequestOutcome(response, .upload, userID: uploaded.asset.owner)
    }
}
