import NIOCore
import NIOHTTP1
import SkyrowActions
import SkyrowModel
import SkyrowProtocol

extension FileEndpoint {
    /// Sends a file that the caller may read, or the part that the head asks for.
    func download(
        _ source: DownloadSource,
        for head: HTTPRequestHead,
        _ query: FileQuery,
        of actions: ActionService,
        from sender: Sender,
        id: RequestID
    ) async throws(SkyrowError) -> RequestOutcome {
        let download = try await actions.download(source, thumbnail: query.thumbnail, from: sender, id: id)
        let size = Int(download.file.size)
        let decision = DownloadHead(head, for: download.asset, download.thumbnail, size: size)
        switch decision.selection {
        case .unsatisfiable, .changed:
            let error =
                decision.selection == .changed
                ? SkyrowError(.conflict, "The file is not the one that the request expects.")
                : SkyrowError(.invalidArgument, "The file has \(size) bytes.")
            var outcome = RequestOutcome.failure(error, in: .v1, status: decision.status, .download)
            outcome.response.fields += decision.fields
            return outcome
        case .unchanged:
            var response = HTTPResponse(status: decision.status, fields: decision.fields)
            response.cacheControl = download.cache.control
            return RequestOutcome(response, .download)
        case .whole, .part:
            let served = download.served(forcesDownload: query.forcesDownload)
            if head.method == .GET, let address = download.file.address(of: served) { return .redirect(to: address) }
            var range = 0..<size
            if case .part(let part) = decision.selection { range = part }
            var response = HTTPResponse(
                status: decision.status,
                fields: decision.fields + DownloadHead.fields(of: served),
                contentType: .other(served.contentType),
                body: ResponseBody(download.file, range) { actions.noteFileSent(Int64($0)) }
            )
            response.cacheControl = download.cache.control
            if case .bytes = response.body, head.method != .HEAD { actions.noteFileSent(Int64(range.count)) }
            return RequestOutcome(response, .download)
        }
    }
}

extension OpenedFile {
    /// The address of another machine that sends the file to the client; nil if the service sends it.
    fileprivate func address(of served: ServedFile) -> String? {
        guard case .remote(let remote) = source else { return nil }
        return remote.address(contentType: served.contentType, disposition: served.disposition)
    }
}

extension RequestOutcome {
    fileprivate static func redirect(to address: String) -> RequestOutcome {
        let fields = [HTTPField("location", address), HTTPField("cross-origin-resource-policy", "cross-origin")]
        var response = HTTPResponse(status: .found, fields: fields)
        // The address expires earlier than that of the file.
        response.cacheControl = "no-store"
        return RequestOutcome(response, .download)
    }
}

extension ResponseBody {
    /// A part of a file.
    ///
    /// - Parameter onSend: Called with the number of bytes that were handed to the connection, unless they are in memory.
    fileprivate init(_ file: OpenedFile, _ range: Range<Int>, onSend: @escaping @Sendable (Int) -> Void) {
        if let content = file.content {
            self = .bytes(ByteBuffer(bytes: content[range]))
            return
        }
        switch file.source {
        case .descriptor(let descriptor):
            var body = ResponseFile(descriptor, range: range)
            body.onSend = onSend
            self = .file(body)
        case .remote(let remote):
            self = .stream(
                ResponseStream(length: range.count) { writer in
                    try await remote.read(Int64(range.lowerBound)..<Int64(range.upperBound)) { part in
                        try await writer.write(ByteBuffer(bytes: part))
                        onSend(part.count)
                    }
                }
            )
        }
    }
}
