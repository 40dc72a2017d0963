import SkyrowModel

/// The state of a form while it is read: its part `file` is the file, all others are ignored.
struct UploadForm: Sendable {
    /// Upper bound on the bytes of the ignored parts.
    static let maximumIgnored = 64 * 1024

    private enum Part {
        case file
        case other
    }

    private var part: Part?
    private var ignored = 0
    private(set) var hasFile = false
    /// The type that the part of the file states.
    private(set) var contentType: String?

    /// Returns the next bytes of the file; nil if the event brings none.
    ///
    /// Throws `107 BadRequest` for a second file, and when the other parts are too large.
    mutating func receive(_ event: MultipartReader.Event) throws(SkyrowError) -> [UInt8]? {
        switch event {
        case .part("file", _, let type):
            guard !hasFile else { throw SkyrowError(.badRequest, "The form has two parts \"file\".") }
            (hasFile, contentType, part) = (true, type, .file)
        case .part:
            part = .other
        case .bytes(let bytes):
            if part == .file { return bytes }
            ignored += bytes.count
            guard ignored <= Self.maximumIgnored else {
                throw SkyrowError(.badRequest, "The parts beside the file have at most \(Self.maximumIgnored) bytes.")
            }
        case .endOfPart, .end:
            part = nil
        }
        return nil
    }
}
