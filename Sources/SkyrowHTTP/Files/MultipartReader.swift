/// Splits a body of `multipart/form-data` (RFC 7578) into its parts while it arrives.
///
/// A body may be cut into chunks anywhere. The content of a part passes through: nothing of it is held back but a beginning of the
/// boundary at the end of a chunk.
///
/// ```swift
/// var reader = MultipartReader(contentType: "multipart/form-data; boundary=x")
/// try reader?.read(chunk)   // [.part(name: "file", filename: "cat.png", contentType: "image/png"), .bytes(…)]
/// try reader?.finish()
/// ```
///
/// Lines end with CR LF; lines that end with LF alone are faults, or content.
struct MultipartReader {
    enum Event: Hashable, Sendable {
        /// A part begins. The type is the one that the client declares, with its parameters.
        case part(name: String, filename: String?, contentType: String?)
        /// The next bytes of the part's content, at least one.
        case bytes([UInt8])
        case endOfPart
        /// The last boundary, and the only sign that the last part is complete. What follows it is ignored.
        case end
    }

    static let maximumParts = 64
    /// Upper bound on the bytes of a part's header.
    static let maximumHeader = 8192
    /// Upper bound on the bytes before the first boundary.
    private static let maximumPreamble = 8192
    private static let lineFeed = UInt8(ascii: "\n")
    private static let carriageReturn = UInt8(ascii: "\r")

    private enum State: Hashable {
        case preamble
        /// Between the boundary and the end of its line.
        case boundary(BoundaryEnd)
        case header
        case content
        case ended
        case failed(MultipartFault)
    }

    /// What followed the boundary so far.
    private enum BoundaryEnd: Hashable {
        case nothing
        case spaces
        case dash
        case carriageReturn
    }

    private let delimiter: MultipartDelimiter
    private var state = State.preamble
    /// The number of bytes of the delimiter with which the bytes so far end.
    private var matched = 2
    /// The number of these that are no content: the CR LF that ended the header, or that the body could begin with.
    private var implied = 2
    private var preambleLength = 0
    private var parts = 0
    private var header = MultipartHeader()
    /// The bytes since the boundary, to the end of the header.
    private var headerLength = 0
    /// The line of the header that has not ended.
    private var line: [UInt8] = []

    /// nil for another type, and without a valid boundary.
    ///
    /// - Parameter contentType: the field of the request.
    init?(contentType: String) {
        guard let field = ParameterizedField(contentType), field.value == "multipart/form-data",
            let delimiter = field["boundary"].flatMap({ MultipartDelimiter(boundary: $0) })
        else { return nil }
        self.delimiter = delimiter
    }

    /// Reads the next bytes of the body.
    ///
    /// - Throws: what is wrong with the body, at this call and at every later one.
    mutating func read(_ bytes: [UInt8]) throws(MultipartFault) -> [Event] {
        if case .failed(let fault) = state { throw fault }
        var events: [Event] = []
        var place = 0
        do throws(MultipartFault) {
            while place < bytes.count {
                switch state {
                case .preamble, .content: try readContent(bytes, &place, &events)
                case .boundary(let end): try readBoundaryEnd(bytes, &place, &events, end)
                case .header: try readHeader(bytes, &place, &events)
                case .ended, .failed: place = bytes.count
                }
            }
        } catch {
            state = .failed(error)
            throw error
        }
        return events
    }

    /// Throws ``MultipartFault/incomplete`` if the last boundary has not arrived.
    mutating func finish() throws(MultipartFault) {
        switch state {
        case .ended: return
        case .failed(let fault): throw fault
        default:
            state = .failed(.incomplete)
            throw .incomplete
        }
    }

    // MARK: - Content

    /// Reads up to the end of the boundary or of the bytes.
    private mutating func readContent(
        _ bytes: [UInt8],
        _ place: inout Int,
        _ events: inout [Event]
    ) throws(MultipartFault) {
        if matched > 0 {
            let rest = delimiter.bytes[matched...].prefix(bytes.count - place)
            if bytes[place...].starts(with: rest) {
                place += rest.count
                matched += rest.count
                if matched == delimiter.bytes.count { endContent(&events) }
                return
            }
            try emit(delimiter.bytes, implied..<matched, &events)
            matched = 0
            implied = 0
        }
        let found = bytes.withUnsafeBytes { delimiter.firstRange(in: $0, from: place) }
        try emit(bytes, place..<found.lowerBound, &events)
        place = found.upperBound
        matched = found.count
        if matched == delimiter.bytes.count { endContent(&events) }
    }

    private mutating func emit(
        _ bytes: [UInt8],
        _ range: Range<Int>,
        _ events: inout [Event]
    ) throws(MultipartFault) {
        guard !range.isEmpty else { return }
        if state == .content {
            // Most chunks are content alone, and are not copied.
            events.append(.bytes(range.count == bytes.count ? bytes : Array(bytes[range])))
        } else {
            preambleLength += range.count
            guard preambleLength <= Self.maximumPreamble else { throw .preambleTooLong }
        }
    }

    private mutating func endContent(_ events: inout [Event]) {
        if state == .content { events.append(.endOfPart) }
        state = .boundary(.nothing)
        headerLength = 0
    }

    // MARK: - Boundaries and headers

    /// Reads what follows the boundary in its line: two dashes, or spaces and the end of the line.
    private mutating func readBoundaryEnd(
        _ bytes: [UInt8],
        _ place: inout Int,
        _ events: inout [Event],
        _ end: BoundaryEnd
    ) throws(MultipartFault) {
        let byte = bytes[place]
        place += 1
        headerLength += 1
        guard headerLength <= Self.maximumHeader else { throw .headerTooLong }
        switch (end, byte) {
        case (.nothing, UInt8(ascii: "-")):
            state = .boundary(.dash)
        case (.dash, UInt8(ascii: "-")):
            state = .ended
            events.append(.end)
        case (.nothing, UInt8(ascii: " ")), (.nothing, UInt8(ascii: "\t")), (.spaces, UInt8(ascii: " ")),
            (.spaces, UInt8(ascii: "\t")):
            state = .boundary(.spaces)
        case (.nothing, Self.carriageReturn), (.spaces, Self.carriageReturn):
            state = .boundary(.carriageReturn)
        case (.carriageReturn, Self.lineFeed):
            parts += 1
            guard parts <= Self.maximumParts else { throw .tooManyParts }
            header = MultipartHeader()
            state = .header
        default: throw .malformedBoundary
        }
    }

    /// Reads up to the end of a line or of the bytes.
    private mutating func readHeader(
        _ bytes: [UInt8],
        _ place: inout Int,
        _ events: inout [Event]
    ) throws(MultipartFault) {
        let rest = bytes[place...].prefix(Self.maximumHeader - headerLength + 1)
        let lineFeed = rest.firstIndex(of: Self.lineFeed)
        let end = lineFeed.map { $0 + 1 } ?? rest.endIndex
        headerLength += end - place
        guard headerLength <= Self.maximumHeader else { throw .headerTooLong }
        line += bytes[place..<end]
        place = end
        guard lineFeed != nil else { return }
        guard line.dropLast().last == Self.carriageReturn else { throw .malformedHeader }
        line.removeLast(2)
        defer { line.removeAll(keepingCapacity: true) }
        guard line.isEmpty else { return try header.take(line) }
        guard let name = header.name else { throw .malformedHeader }
        events.append(.part(name: name, filename: header.filename, contentType: header.contentType))
        state = .content
        // The content may be empty, with the boundary in the next line.
        matched = 2
        implied = 2
    }
}
