import Logging
import NIOCore
import NIOHTTP1
import SkyrowActions
import SkyrowModel
import SkyrowProtocol

extension FileEndpoint {
    /// The bytes of a file by which its type is recognized.
    private static let sniffedLength = 512

    /// Sends a file that the caller may read, or the part that the head asks for.
    func download(
        _ name: AssetName,
        for head: HTTPRequestHead,
        _ query: FileQuery,
        of actions: ActionService,
        from sender: Sender,
        id: RequestID
    ) async throws(SkyrowError) -> RequestOutcome {
        let download = try await actions.download(name, query.signature, from: sender, id: id)
        var file: ResponseFile
        do {
            file = try ResponseFile(descriptor: download.file.descriptor)
        } catch {
            throw unreadable(name, error, id)
        }
        let decision = DownloadHead(head, for: download.asset, size: file.range.count)
        switch decision.selection {
        case .unsatisfiable:
            let error = SkyrowError(.invalidArgument, "The file has \(file.range.count) bytes.")
            var outcome = RequestOutcome.failure(error, in: .v1, status: decision.status, .download)
            outcome.response.fields += decision.fields
            return outcome
        case .unchanged:
            var response = HTTPResponse(status: decision.status, fields: decision.fields)
            response.cacheControl = download.cache.control
            return RequestOutcome(response, .download)
        case .whole, .part:
            let first = try await first(of: file, name, id)
            let served = ServedFile(
                filename: download.asset.filename,
                contentType: download.asset.contentType,
                sniffed: SniffedType.of(first.readableBytesView),
                forcesDownload: query.forcesDownload
            )
            if case .part(let range) = decision.selection { file = file.sending(range) }
            file.onSend = { actions.noteFileSent(Int64($0)) }
            var response = HTTPResponse(
                status: decision.status,
                fields: decision.fields + DownloadHead.fields(of: served),
                contentType: .other(served.contentType),
                body: .file(file)
            )
            response.cacheControl = download.cache.control
            return RequestOutcome(response, .download)
        }
    }

    private func first(
        of file: ResponseFile,
        _ name: AssetName,
        _ id: RequestID
    ) async throws(SkyrowError) -> ByteBuffer {
        do {
            return try await file.first(Self.sniffedLength)
        } catch is CancellationError {
            throw .responseTimedOut
        } catch {
            throw unreadable(name, error, id)
        }
    }

    private func unreadable(_ name: AssetName, _ error: any Error, _ id: RequestID) -> SkyrowError {
        logger.error("A file could not be read", metadata: ["file": "\(name.id)", "error": "\(error)"])
        return SkyrowError(.unexpectedError, "The file could not be read.").withRequestID(id.description)
    }
}
