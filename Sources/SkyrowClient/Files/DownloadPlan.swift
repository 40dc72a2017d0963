import SkyrowModel

/// Which bytes of a file a download requests next, and what the responses mean for it.
///
/// It requests a file in parts: memory stays bounded where bytes arrive faster than they are written, and a lost connection
/// costs no more than what has not been written.
struct DownloadPlan: Hashable {
    /// What becomes of the bytes that were received before.
    enum Earlier: Hashable {
        case stay
        /// The response has the whole file, or they are no part of it.
        case go
    }

    /// Upper bound on the bytes of a request.
    static let maximumPart: Int64 = 16 << 20

    /// Where the requested bytes begin.
    let start: Int64
    /// Where they end; nil for the end of the file.
    let end: Int64?
    /// Where the next byte belongs.
    private(set) var position: Int64
    /// The size of the file, once a response has said it.
    private(set) var size: Int64?
    /// The file's entity tag, by which the service recognizes that earlier bytes are of the same file.
    private var tag: String
    /// Where the current response began; nil before its head.
    private var responseStart: Int64?
    private var hasDropped = false

    /// - Parameters:
    ///   - range: the requested bytes; nil for the whole file.
    ///   - received: the number of bytes that an earlier download has.
    init(of name: AssetName, range: Range<Int64>? = nil, received: Int64 = 0) {
        start = range?.lowerBound ?? 0
        end = range?.upperBound
        position = start + received
        tag = "\"\(name.id)\""
    }

    var isComplete: Bool {
        if let end, position >= end { return true }
        return size.map { position >= $0 } ?? false
    }

    /// How far it is; nil while the size is unknown.
    var progress: FileProgress? {
        size.map { FileProgress(completed: position - start, total: max(min(end ?? $0, $0) - start, 0)) }
    }

    /// Returns the header fields of the next request.
    mutating func nextRequest() -> [(name: String, value: String)] {
        responseStart = nil
        let last = min(position + Self.maximumPart, end ?? .max) - 1
        let range = (name: "Range", value: "bytes=\(position)-\(last)")
        return position == start ? [range] : [range, (name: "If-Range", value: tag)]
    }

    /// Takes bytes of a response with the status 200 or 206.
    mutating func receive(_ count: Int, _ head: TransportResponse) throws(ClientError) -> Earlier {
        let earlier = responseStart == nil ? try begin(head) : .stay
        position += Int64(count)
        // A response without a length has the file up to its end.
        if let size, position > size { throw .otherFile }
        return earlier
    }

    private mutating func begin(_ head: TransportResponse) throws(ClientError) -> Earlier {
        if head.status == 206 {
            guard let range = ContentRange(head), range.first == position, size == nil || size == range.size else {
                throw .otherFile
            }
            size = range.size
        } else {
            // A proxy may have removed the range.
            guard start == 0 else { throw .otherFile }
            position = 0
            size = head.header("content-length").flatMap { Int64($0) }
        }
        tag = head.header("etag") ?? tag
        responseStart = position
        return head.status == 206 ? .stay : .go
    }

    /// Takes the end of a response; throws the error that it has.
    mutating func finish(_ response: TransportResponse) throws(ClientError) -> Earlier {
        switch response.status {
        case 200, 206:
            guard let responseStart, position > responseStart else { throw .otherFile }
            if response.status == 200 { size = size ?? position }
            return .stay
        case 416 where position > start && start == 0 && !hasDropped:
            // Nothing is behind the earlier bytes: they are the file, or longer than it.
            size = ContentRange(response)?.size
            if size == position { return .stay }
            hasDropped = true
            position = 0
            size = nil
            return .go
        default:
            throw FileResponse.error(of: response)
        }
    }
}

/// The field `Content-Range` of a response: `bytes 0-99/1000`, or `bytes */1000` of a range that is not in the file.
struct ContentRange: Hashable {
    let first: Int64?
    let size: Int64

    init?(_ response: TransportResponse) {
        guard let field = response.header("content-range"), field.hasPrefix("bytes "),
            let slash = field.lastIndex(of: "/"), let size = Int64(field[field.index(after: slash)...]), size >= 0
        else { return nil }
        self.size = size
        first = field[..<slash].dropFirst("bytes ".count).split(separator: "-").first.flatMap { Int64($0) }
    }
}

extension ClientError {
    fileprivate static let otherFile = ClientError(
        .invalidResponse,
        "The response cannot be read: It has other bytes than those that were requested."
    )
}
