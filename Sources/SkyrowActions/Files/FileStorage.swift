package import SkyrowModel

/// Where the bytes of an application's files are.
///
/// A file is written once under a name that no other file ever has, so a retry of any of these is safe. The methods may wait for a
/// disk or a network, and none blocks a thread of the cooperative pool.
package protocol FileStorage: Sendable {
    /// The name in the column `_asset.storage`, such as `local`.
    var kind: String { get }

    /// Begins to write a file, which has no name until it is kept.
    func begin() async throws(FileFault) -> any IncomingFile

    /// Opens a file; nil if no file has this name.
    func open(_ name: AssetName) async throws(FileFault) -> OpenedFile?

    /// Deletes a file, if it exists.
    func delete(_ name: AssetName) async throws(FileFault)

    /// Returns some of the files in the order of their names, from behind `name` on; fewer than `limit` at the end.
    func files(after name: AssetName?, limit: Int) async throws(FileFault) -> [FileEntry]

    /// Deletes what interrupted uploads left behind more than `age` ago, and returns the number of files.
    func sweep(olderThan age: Duration) async throws(FileFault) -> Int
}

/// A file that is being written, by one task.
package protocol IncomingFile: AnyObject, Sendable {
    func append(_ part: [UInt8]) async throws(FileFault)

    /// Makes the file durable under its name.
    ///
    /// After it has returned, a crash of the machine does not lose the file. A file of the same name is replaced.
    func keep(as name: AssetName) async throws(FileFault)

    /// Deletes what was written. Has no effect after ``keep(as:)``.
    func discard() async
}

/// A file that is open for reading.
package struct OpenedFile: Sendable {
    /// The receiver closes it.
    package let descriptor: CInt
    package let size: Int64

    package init(descriptor: CInt, size: Int64) {
        self.descriptor = descriptor
        self.size = size
    }
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
