package import SkyrowModel
package import SkyrowSystem

/// Where the bytes of an application's files are.
///
/// A file is written once under a name that no other file ever has, so a retry of any of these is safe. The methods may wait for a
/// disk or a network, and none blocks a thread of the cooperative pool.
package protocol FileStorage: Sendable {
    /// The name in the column `_asset.storage`, such as `local`.
    var kind: String { get }

    /// The kinds of the files that this storage reads and deletes: ``kind``, and those that it has replaced.
    var kinds: Set<String> { get }

    /// How clients upload files without the service; nil if they cannot.
    var directUploads: (any DirectUploads)? { get }

    /// Begins to write a file, which has no name until it is kept.
    ///
    /// - Parameter hashesMD5: whether ``IncomingFile/digests()`` has an MD5 digest.
    func begin(hashesMD5: Bool) async throws(FileFault) -> any IncomingFile

    /// Continues to write a file that was suspended; nil if it does not exist any more, or is shorter. Throws while another process
    /// writes it.
    ///
    /// - Parameters:
    ///   - id: The ``IncomingFile/id`` of the file.
    ///   - length: How many of its bytes are known to be durable. The first use of the file removes what follows them.
    func resume(_ id: String, length: Int64) async throws(FileFault) -> (any IncomingFile)?

    /// Opens a file; nil if no file has this name.
    func open(_ name: AssetName) async throws(FileFault) -> OpenedFile?

    /// Opens a file, and reads it if it is on this machine and has at most `limit` bytes; nil if no file has this name.
    func open(_ name: AssetName, readingUpTo limit: Int) async throws(FileFault) -> OpenedFile?

    /// Deletes a file with its thumbnails, if it exists.
    func delete(_ name: AssetName) async throws(FileFault)

    /// Returns some of the files in the order of their names, from behind `name` on; fewer than `limit` at the end.
    func files(after name: AssetName?, limit: Int) async throws(FileFault) -> [FileEntry]

    /// Where the thumbnails of its images are; nil without a place for them.
    var thumbnails: (any ThumbnailStorage)? { get }

    /// Deletes what interrupted uploads left behind more than `age` ago, and returns the number of files.
    ///
    /// - Parameter needed: Returns those of some incoming files, by their ``IncomingFile/id``, that stay.
    func sweep(
        olderThan age: Duration,
        except needed: @Sendable (_ ids: [String]) async -> Set<String>
    ) async throws(FileFault) -> Int

    /// Returns how many bytes can still be written; nil without a bound, which is the default.
    func freeSpace() async throws(FileFault) -> Int64?
}

extension FileStorage {
    package var kinds: Set<String> { [kind] }
    package var directUploads: (any DirectUploads)? { nil }
    package var thumbnails: (any ThumbnailStorage)? { nil }
    package func freeSpace() async throws(FileFault) -> Int64? { nil }

    package func open(_ name: AssetName, readingUpTo limit: Int) async throws(FileFault) -> OpenedFile? {
        try await open(name)
    }
}

/// A storage to which clients upload files themselves.
package protocol DirectUploads: Sendable {
    /// Returns the form by which a client uploads a file of exactly the announced size and type.
    ///
    /// - Parameter time: How long the form is valid.
    func form(for file: StoredAsset, validFor time: Duration) -> (address: String, fields: [String: String])
}

/// A file that is being written, by one task.
package protocol IncomingFile: AnyObject, Sendable {
    /// Identifies the file in the storage until it is kept: a UUID.
    var id: String { get }

    func append(_ part: [UInt8]) async throws(FileFault)

    /// Returns the digests of the bytes so far; a file that was suspended is read again for them.
    func digests() async throws(FileFault) -> FileDigests

    /// Returns the first bytes so far.
    ///
    /// - Parameter count: an upper bound.
    func first(_ count: Int) async throws(FileFault) -> [UInt8]

    /// Makes the file durable under its name.
    ///
    /// After it has returned, a crash of the machine does not lose the file. A file of the same name is replaced.
    func keep(as name: AssetName) async throws(FileFault)

    /// Makes the bytes so far durable, for ``FileStorage/resume(_:length:)``. Nothing can be written after it.
    func suspend() async throws(FileFault)

    /// Deletes what was written. A file that was resumed stays until then, also without a reference. Has no effect after ``keep(as:)`` and ``suspend()``.
    func discard() async
}

/// The digests of a complete file.
package struct FileDigests: Hashable, Sendable {
    /// 32 bytes.
    package var sha256: [UInt8]
    /// 16 bytes; nil unless it was asked for.
    package var md5: [UInt8]?

    package init(sha256: [UInt8], md5: [UInt8]? = nil) {
        self.sha256 = sha256
        self.md5 = md5
    }
}

/// A file that is open for reading.
package struct OpenedFile: Sendable {
    package enum Source: Sendable {
        /// A file of this machine. Several receivers may share it, so it is read at offsets.
        case descriptor(FileDescriptor)
        /// A file of another machine.
        case remote(any RemoteFile)
    }

    package let source: Source
    /// In bytes.
    package let size: Int64
    /// All bytes of a small file that was opened by ``FileStorage/open(_:readingUpTo:)``; nil for any other.
    package let content: [UInt8]?

    package init(_ source: Source, size: Int64, content: [UInt8]? = nil) {
        self.source = source
        self.size = size
        self.content = content
    }
}

/// A file of another machine.
package protocol RemoteFile: Sendable {
    /// Passes the bytes of a range to `body` in their order, and reads on when it returns.
    ///
    /// Throws ``FileFault`` if not all of them arrive, and what `body` throws.
    func read(_ range: Range<Int64>, _ body: @Sendable (_ part: [UInt8]) async throws -> Void) async throws

    /// Returns an address at which a client gets the file for a minute; nil if the service sends it.
    func address(contentType: String, disposition: String) -> String?
}

extension RemoteFile {
    package func address(contentType: String, disposition: String) -> String? { nil }
}

/// A file in the storage, as a check lists it.
package struct FileEntry: Hashable, Sendable {
    package let name: AssetName
    package let size: Int64
    package let modifiedAt: Timestamp

    package init(name: AssetName, size: Int64, modifiedAt: Timestamp) {
        self.name = name
        self.size = size
        self.modifiedAt = modifiedAt
    }
}

/// Why the storage cannot do what it was asked to.
package enum FileFault: Error, Hashable, Sendable {
    /// The disk or the quota is full.
    case noSpace
    /// The storage does not respond, or responded with an error; the text is for the log.
    case unavailable(String)
}
