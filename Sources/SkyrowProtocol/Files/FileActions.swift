import SkyrowJSON
public import SkyrowModel

/// A file that a client is about to upload.
public struct FileAnnouncement: Hashable, Sendable {
    /// The name with which others download the file.
    public var filename: String
    /// The media type, such as `image/png`.
    public var contentType: String
    /// In bytes.
    public var size: Int

    public init(filename: String, contentType: String, size: Int) {
        self.filename = filename
        self.contentType = contentType
        self.size = size
    }

    fileprivate static let form = Form(
        FileAnnouncement.init(filename:contentType:size:),
        Member("filename", \.filename, .filename, "The name with which others download the file."),
        Member("content-type", \.contentType, .mediaType, "The media type, such as `image/png`."),
        Member("content-size", \.size, .integer(1...Int.max), "The number of bytes.")
    )
}

/// The files of a record whose addresses are asked for.
public struct FileSigning: Hashable, Sendable {
    public var record: RecordID
    public var names: [AssetName]
    public var database: DatabaseName

    public init(record: RecordID, names: [AssetName], database: DatabaseName = .everyone) {
        self.record = record
        self.names = names
        self.database = database
    }

    fileprivate static let form = Form(
        FileSigning.init(record:names:database:),
        Member("record", \.record, .recordID, "The id of the record."),
        Member("names", \.names, .fileNames, "The names of files in the record."),
        Member(
            "database_id",
            \.database,
            .databaseName,
            "The database: `_public`, which is the default, `_private`, a user id, or `_union`.",
            absent: .everyone
        )
    )
}

/// The files that `file:delete` deletes.
public struct FileDeletion: Hashable, Sendable {
    public var names: [AssetName]
    /// Whether records that refer to the files lose them, instead of the deletion being refused.
    public var forces: Bool

    public init(names: [AssetName], forces: Bool = false) {
        self.names = names
        self.forces = forces
    }

    fileprivate static let form = Form(
        FileDeletion.init(names:forces:),
        Member("names", \.names, .fileNames, "The names of the files."),
        Member(
            "force",
            \.forces,
            .boolean,
            "Whether to clear the fields that refer to the files; only for the master key.",
            absent: false
        )
    )
}

extension Actions {
    /// Upper bound on the names of one request.
    package static let maximumFileNames = 1000

    /// Announces a file, and returns how it is uploaded.
    public static let assetPut = Action<FileAnnouncement, AnnouncedFile>(
        "asset:put",
        "Announces a file, and returns the value for a record and the request by which a form uploads the file.",
        requires: .keyOrToken,
        scope: .records(.writing),
        cost: .write,
        errors: [.permissionDenied, .notSupported, .assetSizeTooLarge],
        FileAnnouncement.form,
        result: .announcedFile
    )

    /// The addresses of files that a record names, also inside of JSON values; without those that it does not name.
    public static let fileSign = Action<FileSigning, [AssetName: String]>(
        "file:sign",
        "Returns addresses at which files of a record can be downloaded for some minutes, also of files inside of JSON values.",
        requires: .keyOrToken,
        scope: .records(.reading),
        cost: .read,
        errors: [.permissionDenied, .resourceNotFound, .notSupported],
        FileSigning.form,
        result: .object(Form("urls", .addresses, "The address of each file, without those that cannot be signed."))
    )

    /// Deletes files, all of them or none; returns how many.
    public static let fileDelete = Action<FileDeletion, Int>(
        "file:delete",
        "Deletes files: all of them or none. Users delete files that they uploaded and to which no record refers.",
        requires: .userOrMaster,
        cost: .write,
        errors: [.resourceNotFound, .constraintViolated, .notSupported],
        FileDeletion.form,
        result: .count("deleted", "How many files were deleted.")
    )

    /// Deletes the files to which nothing has referred for a time; with true it only counts them.
    public static let fileCollect = Action<Bool, FileCollection>(
        "file:collect",
        "Deletes the files to which nothing has referred for the time of the setting file-grace.",
        requires: .master,
        cost: .write,
        effect: .repeatable,
        errors: [.permissionDenied, .notSupported],
        Form(
            { $0 },
            Member(
                "dry_run",
                \.self,
                .boolean,
                "Whether to delete nothing, and to return what would be.",
                absent: false
            )
        ),
        result: .collection
    )
}

extension Codec<String> {
    /// 1 to 255 bytes, as most file systems have it.
    fileprivate static let filename = string(1...255)

    fileprivate static let mediaType = text(.string(maximum: 255)) {
        "\"\($0)\" must be a media type, such as image/png."
    } isFit: {
        $0.utf8.count <= 255 && MediaType($0) != nil
    }
}

extension Codec<[AssetName]> {
    fileprivate static let fileNames = list(of: .assetName, atMost: Actions.maximumFileNames)
}

extension Codec<RecordID> {
    fileprivate static let recordID = Codec(.named(.recordID)) { json, name throws(SkyrowError) in
        guard json.isString else { throw .wrongType(name, "a string") }
        return try RecordID(json: json)
    } write: { id, writer in
        writer.string(id.description)
    }
}

extension Codec<DatabaseName> {
    fileprivate static let databaseName = parsed(maximum: 255) { text, _ throws(SkyrowError) in
        try DatabaseName(text)
    } writing: {
        $0.text
    }
}
