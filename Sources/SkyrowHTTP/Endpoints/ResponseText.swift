@_spi(CustomByteBufferAllocator) import NIOCore
import SkyrowJSON
import SkyrowModel
import SkyrowProtocol

/// The text of one call's result or error, within the limits of the request's account.
struct ResponseText: Sendable {
    let body: ByteBuffer
    /// The error in the text, which may be that the result is too large.
    let error: SkyrowError?

    /// - Parameters:
    ///   - action: the called action, if any.
    ///   - links: makes the addresses of files; nil for a text without addresses.
    ///   - isPart: whether the texts of other calls share the response.
    init(
        _ result: Result<ResultWriter, SkyrowError>,
        of action: ActionDescription?,
        in envelope: Envelope,
        account: ResponseAccount,
        links: (any AssetLinks)?,
        isPart: Bool = false
    ) {
        switch result {
        case .success(let result):
            let writer = JSONWriter(account: account)
            writer.links = links
            writer.response(result, in: envelope)
            let refusal = writer.settle(isPart: isPart)
            error = refusal.map { SkyrowError($0, result: result).about(action, limit: account.limit) }
            body =
                error.map { ByteBuffer(failure: $0, in: envelope, account: account, links: links) }
                ?? ByteBuffer(taking: writer)
        case .failure(let error):
            let error = error.about(action, limit: account.limit)
            self.error = error
            body = ByteBuffer(failure: error, in: envelope, account: account, links: links, isPart: isPart)
        }
    }
}

extension ByteBuffer {
    /// Creates the text of a failure, without its info if that, which may name many long records, is too large.
    fileprivate init(
        failure error: SkyrowError,
        in envelope: Envelope,
        account: ResponseAccount,
        links: (any AssetLinks)?,
        isPart: Bool = false
    ) {
        var writer = JSONWriter(capacity: 256, account: account)
        writer.links = links
        writer.failure(error, in: envelope)
        if writer.settle(isPart: isPart) != nil {
            var short = error
            short.info = [:]
            writer = JSONWriter(capacity: 256)
            writer.failure(short, in: envelope)
        }
        self.init(taking: writer)
    }

    /// Takes the text of a writer; a long text is taken over without a copy.
    init(taking writer: JSONWriter) {
        guard writer.count > ResponseAccount.allowance else {
            self.init(writer)
            return
        }
        let (memory, count) = writer.release()
        self.init(takingOwnershipOf: memory, allocator: .ofWriters, writerIndex: count)
    }
}

extension ByteBufferAllocator {
    /// The allocator for memory that Swift allocated.
    fileprivate static let ofWriters = ByteBufferAllocator(
        allocate: { UnsafeMutableRawPointer.allocate(byteCount: $0, alignment: 1) },
        reallocate: { old, oldSize, newSize in
            let new = UnsafeMutableRawPointer.allocate(byteCount: newSize, alignment: 1)
            if let old {
                new.copyMemory(from: old, byteCount: min(oldSize, newSize))
                old.deallocate()
            }
            return new
        },
        deallocate: { $0.deallocate() },
        copy: { $0.copyMemory(from: $1, byteCount: $2) }
    )
}

extension SkyrowError {
    /// Creates the error for a result that is not sent.
    fileprivate init(_ refusal: ResponseAccount.Refusal, result: ResultWriter) {
        self.init(refusal)
        if let text = result.refusalMessage { message = text }
    }

    /// Adds to an error about a too large result the parameters by which the action's result becomes smaller.
    fileprivate func about(_ action: ActionDescription?, limit: Int) -> SkyrowError {
        guard code == .payloadTooLarge, let narrowing = action?.narrowing else { return self }
        var error = self
        error.message = "The result is too large for one response: \(narrowing.advice)."
        error.info["arguments"] = .list(narrowing.parameters.map { .string($0) })
        error.info["limit"] = .integer(Int64(limit))
        return error
    }
}
