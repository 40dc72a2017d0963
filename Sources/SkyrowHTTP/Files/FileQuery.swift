import SkyrowActions
import SkyrowModel

/// The query of a request for a file: `?expiredAt=1549522000&signature=…&thumb=400x400f&download=1`, `?database_id=_private`.
struct FileQuery: Sendable {
    /// The name of a file that is uploaded.
    let filename: String?
    /// The database of the record in whose field the file is, not parsed.
    let database: String?
    let signature: FileSignature?
    /// The application of a signed address whose host names none.
    let application: ApplicationName?
    /// Whether a browser saves the file where it could show it.
    let forcesDownload: Bool
    /// The size of the thumbnail that is sent instead of the file.
    let thumbnail: ThumbnailSize?

    /// Parses the query of a request's target; throws `108 InvalidArgument` for one that cannot be decoded, and for a text that is no
    /// size of a thumbnail.
    init(of uri: String) throws(SkyrowError) {
        let fields = FormFields(queryOf: uri)
        guard fields != nil || !uri.utf8.contains(UInt8(ascii: "?")) else {
            throw .invalidArgument("The query of this address cannot be decoded.")
        }
        filename = fields?["filename"]
        database = fields?["database_id"]
        let (expiredAt, signature) = (fields?["expiredAt"], fields?["signature"])
        // One without the other is unreadable.
        self.signature =
            expiredAt == nil && signature == nil
            ? nil : FileSignature(expiredAt: expiredAt ?? "", signature: signature ?? "")
        application = fields?["application"].flatMap { try? ApplicationName($0) }
        forcesDownload = fields?["download"] == "1"
        thumbnail = try fields?["thumb"].map { text throws(SkyrowError) in
            guard let size = ThumbnailSize(text) else {
                throw .invalidArgument("\"thumb\" must be a size, such as 100x100, 400x400f or 400x0.", "thumb")
            }
            return size
        }
    }
}
