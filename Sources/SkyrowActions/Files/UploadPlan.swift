package import SkyrowModel
import SkyrowStore

/// What an upload may contain, decided before its first byte.
struct UploadPlan: Sendable {
    /// The name that the uploader gave the file.
    let filename: String
    /// The media type that the client declares; nil for none and for an unreadable one.
    let declared: MediaType?
    /// The announced number of bytes; nil if it is not known before the end.
    let size: Int64?
    /// Upper bound on the bytes.
    let maximum: Int64
    let types: FileTypes
    /// What bounds the bytes of all files of the uploader; nil if nothing does, and for a file whose announcement was judged.
    private(set) var quota: UploadQuota?

    /// Throws `108 InvalidArgument` for an empty file or a name that is not one, and `129 AssetSizeTooLarge`.
    init(
        filename: String,
        contentType: String?,
        size: Int64?,
        maximum: Int64,
        types: FileTypes
    ) throws(SkyrowError) {
        guard (1...255).contains(filename.utf8.count), !filename.hasNUL else {
            throw .invalidArgument("A file name must have 1 to 255 bytes without NUL.", "filename")
        }
        if let size {
            guard size > 0 else { throw .fileEmpty }
            guard size <= maximum else { throw .fileTooLarge(maximum) }
        }
        self.filename = filename
        declared = contentType.flatMap { MediaType($0) }
        self.size = size
        self.maximum = maximum
        self.types = types
    }

    /// Bounds the upload by what is left of a quota; throws `129 AssetSizeTooLarge` if it is certain to exceed that.
    mutating func limit(by quota: UploadQuota) throws(SkyrowError) {
        try quota.require(size ?? 1)
        self.quota = quota
    }

    /// Throws `108 InvalidArgument` for a declared type that is not accepted, before there are bytes that may show another one.
    func requireAcceptedDeclaration() throws(SkyrowError) {
        let stored = SniffedType.stored(declared: declared, filename: "", sniffed: nil)
        let judged = SniffedType.judged(declared: stored, sniffed: nil)
        guard stored == .octetStream || types.admits(judged) else { throw .fileTypeRefused(judged) }
    }

    /// Returns the media type under which the file is stored, if its type is accepted; throws `108 InvalidArgument` otherwise.
    ///
    /// - Parameters:
    ///   - sniffed: the type that its first bytes show.
    ///   - part: the type that the body of the request declares; counts if the head or the announcement declares none.
    func contentType(sniffed: String?, part: String? = nil) throws(SkyrowError) -> MediaType {
        let declared = [self.declared, part.flatMap { MediaType($0) }].compactMap(\.self)
        let chosen = declared.first { $0 != .octetStream } ?? declared.first
        let stored = SniffedType.stored(declared: chosen, filename: filename, sniffed: sniffed)
        let judged = SniffedType.judged(declared: stored, sniffed: sniffed)
        guard types.admits(judged) else { throw .fileTypeRefused(judged) }
        return stored
    }
}

/// The bytes that the files of a user may have.
struct UploadQuota: Hashable, Sendable {
    let limit: Int64
    /// The bytes that they have, announced ones included.
    let used: Int64

    /// Throws `129 AssetSizeTooLarge` for a file that does not fit.
    func require(_ size: Int64) throws(SkyrowError) {
        guard used <= limit - size else { throw .fileQuotaExceeded(limit: limit, used: used) }
    }
}

/// The course of an upload: counts its bytes, and keeps the first ones for a look at the type.
struct UploadProgress: Sendable {
    /// After how many bytes the free space of the storage is read again.
    static let spaceInterval: Int64 = 16 << 20

    let plan: UploadPlan
    private(set) var received: Int64
    /// The number of received bytes from which on the free space is read again.
    private var nextReading: Int64
    private var first: [UInt8]

    /// - Parameters:
    ///   - received: how many bytes have arrived before.
    ///   - first: the first of them, as many as show the type.
    init(_ plan: UploadPlan, received: Int64 = 0, first: [UInt8] = []) {
        self.plan = plan
        self.received = received
        nextReading = received + Self.spaceInterval
        self.first = first
    }

    /// Returns how many more bytes the storage must have space for, if its free space must be read now.
    mutating func spaceToRequire() -> Int64? {
        guard received >= nextReading else { return nil }
        nextReading = received + Self.spaceInterval
        return plan.size.map { $0 - received } ?? 0
    }

    /// Counts a part.
    ///
    /// Throws `129 AssetSizeTooLarge` beyond the announced size, the upper bound and the quota, and `108 InvalidArgument` as soon as
    /// the first bytes show a type that is not accepted.
    mutating func take(_ part: [UInt8]) throws(SkyrowError) {
        received += Int64(part.count)
        if let size = plan.size, received > size { throw .fileTooLarge(size) }
        guard received <= plan.maximum else { throw .fileTooLarge(plan.maximum) }
        try plan.quota?.require(received)
        let missing = SniffedType.examinedBytes - first.count
        guard missing > 0 else { return }
        first += part.prefix(missing)
        // Without a known signature the type depends on what the body declares.
        guard first.count == SniffedType.examinedBytes, let sniffed else { return }
        _ = try plan.contentType(sniffed: sniffed)
    }

    /// Returns the size and the media type of the complete file, and the type that its first bytes show.
    ///
    /// Throws `108 InvalidArgument` for an empty or shorter one, and for a type that is not accepted.
    ///
    /// - Parameter part: the media type that the body of the request declares.
    func finish(
        part: String?
    ) throws(SkyrowError) -> (size: Int64, contentType: MediaType, sniffed: String?) {
        guard received > 0 else { throw .fileEmpty }
        if let size = plan.size, received < size {
            throw .invalidArgument("The file has \(received) of the announced \(size) bytes.", "content-size")
        }
        return (received, try plan.contentType(sniffed: sniffed, part: part), sniffed)
    }

    private var sniffed: String? { SniffedType.of(first) }
}

extension SkyrowError {
    static let fileEmpty = SkyrowError.invalidArgument("The file is empty.", "content-size")

    /// `129 AssetSizeTooLarge`.
    ///
    /// - Parameter limit: in bytes.
    package static func fileTooLarge(_ limit: Int64) -> SkyrowError {
        SkyrowError(
            .assetSizeTooLarge,
            "The file is larger than \(limit) bytes.",
            info: ["limit": .integer(limit)]
        )
    }

    fileprivate static func fileTypeRefused(_ type: MediaType) -> SkyrowError {
        .invalidArgument("Files of the type \(type) are not accepted.", "content-type")
    }
}
