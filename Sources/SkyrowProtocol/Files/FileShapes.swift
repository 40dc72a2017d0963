package import SkyrowJSON
public import SkyrowModel

/// A file as its upload returns it.
///
/// ```json
/// {"$type": "asset", "$name": "7b0e2a7c-7135-4912-a6c9-7c1dbec0f5ef-cat.png", "$content_type": "image/png", "$size": 1024,
///  "$width": 64, "$height": 48,
///  "$url": "https://example.com/files/7b0e2a7c-7135-4912-a6c9-7c1dbec0f5ef-cat.png?expiredAt=1549522000&signature=…"}
/// ```
///
/// A record can have it as the value of a field, which keeps only the name.
public struct UploadedFile: Hashable, Sendable {
    public var asset: Asset
    /// The media type, such as `image/png`.
    public var contentType: String
    /// In bytes.
    public var size: Int64
    /// Of an image, as a browser shows it; nil if they are not known.
    public var dimensions: PixelSize?

    public init(asset: Asset, contentType: String, size: Int64, dimensions: PixelSize? = nil) {
        self.asset = asset
        self.contentType = contentType
        self.size = size
        self.dimensions = dimensions
    }

    /// Reads what an upload returns; throws `108 InvalidArgument` for an object without the name of a file.
    package init(_ json: JSONView) throws(SkyrowError) {
        self = try Codec<UploadedFile>.uploadedFile.read(json, "asset")
    }
}

/// A file for which the service expects an upload, and how it is uploaded.
public struct AnnouncedFile: Hashable, Sendable {
    /// The request by which a form uploads the file, in its part `file`.
    public struct Request: Hashable, Sendable {
        /// The path and query, relative to the address of the service; they contain all that authorizes the upload.
        public var action: String
        /// Parts of the form before the file.
        public var fields: [String: String]

        public init(action: String, fields: [String: String] = [:]) {
            self.action = action
            self.fields = fields
        }
    }

    public var file: UploadedFile
    public var request: Request

    public init(file: UploadedFile, request: Request) {
        self.file = file
        self.request = request
    }
}

/// The outcome of a search for files that nothing refers to.
public struct FileCollection: Hashable, Sendable {
    /// The files that were found to be unreferenced for the first time; they are kept for now.
    public var unreferenced: Int
    /// The files that were deleted, or would be.
    public var deleted: Int

    public init(unreferenced: Int, deleted: Int) {
        self.unreferenced = unreferenced
        self.deleted = deleted
    }
}

// MARK: JSON

extension Codec<UploadedFile> {
    package static let uploadedFile = Codec(
        .object([
            JSONMember("$type", .oneOfStrings(["asset"]), isRequired: true),
            JSONMember("$name", .string(maximum: AssetName.maximumBytes), isRequired: true, "The name of the file."),
            JSONMember("$content_type", .string(), isRequired: true, "The media type."),
            JSONMember("$size", .integer(minimum: 0), isRequired: true, "The number of bytes."),
            JSONMember("$width", .integer(minimum: 1), "The pixels of an image in a row, as a browser shows it."),
            JSONMember("$height", .integer(minimum: 1), "The rows of an image."),
            JSONMember("$url", .string(), isRequired: true, "Where it can be downloaded for some minutes."),
        ])
    ) { json, name throws(SkyrowError) in
        guard json.isObject else { throw .wrongType(name, "an object") }
        guard let text = json["$name"]?.string, let file = AssetName(text) else {
            throw .invalidArgument("\"\(name)\" lacks the name of a file.", name)
        }
        return UploadedFile(
            asset: Asset(file, url: json["$url"]?.string),
            contentType: json["$content_type"]?.string ?? "application/octet-stream",
            size: json["$size"]?.wholeNumber.flatMap { Int64(exactly: $0) } ?? 0,
            dimensions: json["$width"]?.wholeNumber.flatMap { width in
                json["$height"]?.wholeNumber.map { PixelSize(width: Int(width), height: Int($0)) }
            }
        )
    } write: { file, writer in
        writer.beginObject()
        writer.member("$type", "asset")
        writer.member("$name", file.asset.name.rawValue)
        writer.member("$content_type", file.contentType)
        writer.member("$size", file.size)
        if let dimensions = file.dimensions {
            writer.member("$width", dimensions.width)
            writer.member("$height", dimensions.height)
        }
        if let url = file.asset.url { writer.member("$url", url) }
        writer.endObject()
    }
}

extension Codec<AnnouncedFile> {
    static let announcedFile = object(
        Form(
            AnnouncedFile.init(file:request:),
            Member("asset", \.file, .uploadedFile, "The value for a field of a record."),
            Member(
                "post-request",
                \.request,
                .object(
                    Form(
                        AnnouncedFile.Request.init(action:fields:),
                        Member("action", \.action, .string, "The path and query to which a form posts the file."),
                        Member(
                            "extra-fields",
                            \.fields,
                            .table(of: .string) {
                                $0
                            } key: {
                                $0
                            },
                            "The parts of the form that precede the part `file`."
                        )
                    )
                ),
                "How the file is uploaded."
            )
        )
    )
}

extension Codec<FileCollection> {
    static let collection = object(
        Form(
            FileCollection.init(unreferenced:deleted:),
            Member(
                "unreferenced",
                \.unreferenced,
                .integer(0...Int.max),
                "How many files were found to be unreferenced for the first time; they are kept for now."
            ),
            Member("deleted", \.deleted, .integer(0...Int.max), "How many were deleted, or would be with `dry_run`.")
        )
    )
}

extension Codec<AssetName> {
    /// The name of a file, which other texts cannot be.
    static let assetName = Codec.parsed(maximum: AssetName.maximumBytes) { text, name throws(SkyrowError) in
        guard let file = AssetName(text) else {
            throw .invalidArgument("\"\(name)\" must be the name that the upload of a file returned.", name)
        }
        return file
    } writing: {
        $0.rawValue
    }
}

extension Codec<[AssetName: String]> {
    /// `{"7b0e2a7c-…-cat.png": "https://…"}`
    static let addresses = Codec(.object([], others: .string())) { json, name throws(SkyrowError) in
        guard json.isObject else { throw .wrongType(name, "an object") }
        var addresses: [AssetName: String] = [:]
        for (key, value) in json.members {
            guard let text = key.string, let file = AssetName(text) else { continue }
            addresses[file] = value.string
        }
        return addresses
    } write: { addresses, writer in
        writer.beginObject()
        for (name, address) in addresses.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            writer.key(name.rawValue)
            writer.string(address)
        }
        writer.endObject()
    }
}
