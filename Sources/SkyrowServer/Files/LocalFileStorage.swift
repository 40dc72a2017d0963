import Glibc
package import SkyrowActions
import SkyrowJSON
package import SkyrowModel
package import SkyrowSystem
import Synchronization

/// Files in a directory of this machine, or in one that several machines share.
///
/// ```
/// <file-directory>/<application>/7b/7b0e2a7c-7135-4912-a6c9-7c1dbec0f5ef-cat.png
/// <file-directory>/<application>/incoming/c29c7b9e-5b0f-4c65-9c2b-0d3bb6b7a1a5
/// <file-directory>/<application>/thumbs/7b/7b0e2a7c-7135-4912-a6c9-7c1dbec0f5ef-cat.png/100x100
/// ```
///
/// A file is written in `incoming` and moved when it is complete and durable, so a name never leads to a part of a file. No
/// directory stays open: an operation finds the one that is mounted at that moment, and fails without one.
package struct LocalFileStorage: FileStorage {
    package let kind = "local"
    /// The directory of the application.
    private let path: String
    private let durable = DurableNames()

    static let incoming = "incoming"
    /// Upper bound on the files in `incoming` that are looked up at once.
    private static let sweptAtOnce = 500

    /// Makes the directories of an application, unless they exist.
    ///
    /// Throws ``ToolError`` with the operator's remedy if they cannot be made or used.
    ///
    /// - Parameter directory: The directory of the files of all applications.
    package init(in directory: String, of application: ApplicationName) async throws(ToolError) {
        path = "\(directory)/\(application)"
        do throws(FileFault) {
            try await FileThreads.reading.run { () throws(FileFault) in
                try LocalFileStorage.makeDirectories(in: directory, of: application)
            }
        } catch {
            let reason =
                switch error {
                case .noSpace: "There is no space for the directory \(directory)/\(application)."
                case .unavailable(let text): text
                }
            throw .failure("\(reason) Set file-directory to a directory for files, or files to off.")
        }
    }

    /// - Parameter directory: The directory of the files of all applications, in which nothing is made.
    package init(existingIn directory: String, of application: ApplicationName) {
        path = "\(directory)/\(application)"
    }

    private static func makeDirectories(in directory: String, of application: ApplicationName) throws(FileFault) {
        let isNew = access(directory, F_OK) != 0
        do throws(ToolError) {
            try SkyrowSystem.makeDirectory(directory)
        } catch {
            throw .unavailable(error.description)
        }
        if isNew { try FileDirectory("\(directory)/..").synchronize() }
        let all = try FileDirectory(directory, followsLink: true)
        try all.makeDirectory(application.rawValue)
        try all.synchronize()
        let own = try FileDirectory("\(directory)/\(application)")
        try own.makeDirectory(incoming)
        try own.synchronize()
        guard faccessat(AT_FDCWD, "\(directory)/\(application)/\(incoming)", R_OK | W_OK | X_OK, AT_EACCESS) == 0 else {
            throw .system("Cannot write to \(directory)/\(application)/\(incoming)")
        }
    }

    // MARK: - Files

    package func begin(hashesMD5: Bool) async throws(FileFault) -> any IncomingFile {
        try await incomingFile(hashesMD5: hashesMD5)
    }

    package func resume(_ id: String, length: Int64) async throws(FileFault) -> (any IncomingFile)? {
        try await incomingFile(id, length: length)
    }

    /// ``begin(hashesMD5:)``
    func incomingFile(hashesMD5: Bool) async throws(FileFault) -> LocalIncomingFile {
        try await FileThreads.writing.run { () throws(FileFault) in
            let id = UUIDText().description
            let file = FileDescriptor(owning: try incomingFiles().createFile(id))
            return LocalIncomingFile(file, id: id, in: self, digester: FileDigester(hashesMD5: hashesMD5))
        }
    }

    /// ``resume(_:length:)``
    func incomingFile(_ id: String, length: Int64) async throws(FileFault) -> LocalIncomingFile? {
        // It becomes a part of a path.
        guard AssetName.isID(id.utf8) else { return nil }
        return try await FileThreads.writing.run { () throws(FileFault) in
            guard let file = try incomingFiles().resumeFile(id, length: length) else { return nil }
            return LocalIncomingFile(resuming: file, at: length, id: id, in: self)
        }
    }

    package func open(_ name: AssetName) async throws(FileFault) -> OpenedFile? {
        try await opened(name, readingUpTo: nil)
    }

    package func open(_ name: AssetName, readingUpTo limit: Int) async throws(FileFault) -> OpenedFile? {
        try await opened(name, readingUpTo: limit)
    }

    private func opened(_ name: AssetName, readingUpTo limit: Int?) async throws(FileFault) -> OpenedFile? {
        try await FileThreads.reading.run { () throws(FileFault) in
            try FileDirectory(path).directory(name.shard)?.openFile(name.rawValue, readingUpTo: limit)
        }
    }

    package func delete(_ name: AssetName) async throws(FileFault) {
        try await FileThreads.writing.run { () throws(FileFault) in
            if let shard = try FileDirectory(path).directory(name.shard), try shard.removeFile(name.rawValue) {
                try shard.synchronize()
            }
            // After the file, of which no other thumbnail is kept then.
            try directoryOfThumbnails.remove(of: name)
        }
    }

    package func files(after last: AssetName?, limit: Int) async throws(FileFault) -> [FileEntry] {
        let shards = try await FileThreads.reading.run { () throws(FileFault) in
            try FileDirectory(path).names().filter { AssetName.isShard($0) && $0 >= last?.shard ?? "" }.sorted()
        }
        var files: [FileEntry] = []
        for shard in shards where files.count < limit {
            let room = limit - files.count
            files += try await FileThreads.reading.run { () throws(FileFault) in
                try self.files(in: shard, after: last, limit: room)
            }
        }
        return files
    }

    private func files(in shard: String, after last: AssetName?, limit: Int) throws(FileFault) -> [FileEntry] {
        // It may have been removed meanwhile.
        guard let directory = try FileDirectory(path).directory(shard) else { return [] }
        let names = try directory.names().compactMap { AssetName($0) }.filter {
            $0.shard == shard && $0.rawValue > last?.rawValue ?? ""
        }
        var files: [FileEntry] = []
        for name in names.sorted(by: { $0.rawValue < $1.rawValue }) where files.count < limit {
            guard let status = try directory.status(ofFile: name.rawValue) else { continue }
            files.append(FileEntry(name: name, size: status.size, modifiedAt: Timestamp(status.modifiedAt)))
        }
        return files
    }

    package func sweep(
        olderThan age: Duration,
        except needed: @Sendable (_ ids: [String]) async -> Set<String>
    ) async throws(FileFault) -> Int {
        var old = try await FileThreads.writing.run { () throws(FileFault) in try oldIncomingFiles(age)[...] }
        var count = 0
        while !old.isEmpty {
            let part = Array(old.prefix(Self.sweptAtOnce))
            old = old.dropFirst(part.count)
            let kept = await needed(part)
            count += try await FileThreads.writing.run { () throws(FileFault) in
                let directory = try incomingFiles()
                var count = 0
                for name in part where !kept.contains(name) {
                    if try directory.removeFile(name) { count += 1 }
                }
                return count
            }
        }
        return count
    }

    /// Returns the names of the files in `incoming` that were not written for a time.
    private func oldIncomingFiles(_ age: Duration) throws(FileFault) -> [String] {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        let directory = try incomingFiles()
        var names: [String] = []
        for name in try directory.names() {
            guard let status = try directory.status(ofFile: name) else { continue }
            let since = Timestamp(now).microseconds - Timestamp(status.modifiedAt).microseconds
            if .microseconds(since) > age { names.append(name) }
        }
        return names
    }

    package func freeSpace() async throws(FileFault) -> Int64? {
        try await FileThreads.writing.run { () throws(FileFault) in try incomingFiles().freeSpace() }
    }

    package var thumbnails: (any ThumbnailStorage)? { directoryOfThumbnails }

    private var directoryOfThumbnails: ThumbnailDirectory { ThumbnailDirectory(in: path) }

    private func incomingFiles() throws(FileFault) -> FileDirectory {
        let directory = try FileDirectory(path).directory(Self.incoming)
        guard let directory else { throw .unavailable("The directory \(path)/\(Self.incoming) does not exist.") }
        return directory
    }

    // MARK: - What an incoming file becomes

    /// Gives a file its name and makes that durable; may wait for the disk.
    func place(_ incoming: String, as name: AssetName) throws(FileFault) {
        let shard = try shard(of: name)
        try incomingFiles().moveFile(incoming, to: shard, as: name.rawValue)
        try shard.synchronize()
    }

    /// Opens the directory of a file, and makes it if it does not exist.
    private func shard(of name: AssetName) throws(FileFault) -> FileDirectory {
        let own = try FileDirectory(path)
        if durable.contains(name.shard), let shard = try own.directory(name.shard) { return shard }
        try own.makeDirectory(name.shard)
        // Also if another process made it, which may not have come as far yet.
        try own.synchronize()
        guard let shard = try own.directory(name.shard) else {
            throw .unavailable("The directory \(path)/\(name.shard) was removed.")
        }
        durable.insert(name.shard)
        return shard
    }

    /// Makes the names of the files in `incoming` durable; may wait for the disk.
    func synchronizeIncoming() throws(FileFault) {
        try incomingFiles().synchronize()
    }

    /// Removes a file in `incoming`, if it is still there; may wait for the disk.
    func discard(_ incoming: String) {
        // What cannot be removed now is swept later.
        _ = try? incomingFiles().removeFile(incoming)
    }
}

/// The directories that are certain to survive a crash.
private final class DurableNames: Sendable {
    private let names = Mutex<Set<String>>([])

    func contains(_ name: String) -> Bool { names.withLock { $0.contains(name) } }

    func insert(_ name: String) {
        names.withLock { _ = $0.insert(name) }
    }
}

extension AssetName {
    /// The directory of the file: the first two digits of its UUID, so that no directory has too many files.
    var shard: String { String(rawValue.prefix(2)) }

    static func isShard(_ name: String) -> Bool {
        name.utf8.count == 2 && name.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }
}

extension Timestamp {
    /// A time since 1970, as files have it.
    init(_ time: timespec) {
        let microseconds = Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
        self.init(microseconds: microseconds - Self.unixEpochOffset)
    }
}
