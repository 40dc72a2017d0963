import Glibc
package import SkyrowActions
import SkyrowJSON
package import SkyrowModel
package import SkyrowSystem

/// The thumbnails of an application in a directory of this machine, which has a directory `incoming` too.
///
/// ```
/// <directory>/thumbs/7b/7b0e2a7c-7135-4912-a6c9-7c1dbec0f5ef-cat.png/100x100
/// ```
///
/// `thumbs` may be removed at any time.
package struct ThumbnailDirectory: ThumbnailStorage {
    private static let thumbnails = "thumbs"
    private let path: String

    package init(in path: String) {
        self.path = path
    }

    package func open(_ thumbnail: Thumbnail) async throws(FileFault) -> OpenedFile? {
        try await FileThreads.reading.run { () throws(FileFault) in
            try FileDirectory(path).directory(Self.thumbnails)?.directory(thumbnail.asset.shard)?
                .directory(thumbnail.asset.rawValue)?.openFile(thumbnail.size.description)
        }
    }

    // MARK: - Making

    package func source(_ image: OpenedFile) async throws(FileFault) -> ThumbnailSource {
        switch image.source {
        case .descriptor(let shared):
            try await FileThreads.reading.run { () throws(FileFault) in
                // Another one of the same file, since a descriptor and its copies have one position.
                let file = try FileDescriptor(openingAgain: shared)
                return ThumbnailSource(file, first: try file.bytes(at: 0, upTo: ImageHeader.examinedBytes))
            }
        case .remote(let remote):
            try await copy(of: remote, size: image.size)
        }
    }

    /// Returns a file without a name with the bytes of a file of another machine.
    private func copy(of remote: any RemoteFile, size: Int64) async throws(FileFault) -> ThumbnailSource {
        let file = try await FileThreads.writing.run { () throws(FileFault) in
            let id = UUIDText().description
            let incoming = try incomingFiles()
            let file = FileDescriptor(owning: try incoming.createFile(id))
            try incoming.removeFile(id)
            return file
        }
        do {
            try await remote.read(0..<size) { part in
                try await FileThreads.writing.run { () throws(FileFault) in try file.put(part) }
            }
        } catch let fault as FileFault {
            throw fault
        } catch {
            throw .unavailable("A file cannot be read: \(error)")
        }
        return try await FileThreads.reading.run { () throws(FileFault) in
            guard lseek(file.number, 0, SEEK_SET) == 0 else { throw .system("Cannot read a copy of a file") }
            return ThumbnailSource(file, first: try file.bytes(at: 0, upTo: ImageHeader.examinedBytes))
        }
    }

    package func keep(
        _ thumbnail: Thumbnail,
        _ body: @Sendable (FileDescriptor) async throws(ThumbnailFault) -> Void
    ) async throws(ThumbnailFault) -> OpenedFile {
        let id = UUIDText().description
        let file = try await running { () throws(FileFault) in
            FileDescriptor(owning: try incomingFiles().createFile(id))
        }
        do throws(ThumbnailFault) {
            try await body(file)
            return try await running { () throws(FileFault) in
                // A crash of the machine leaves no part of it under its name.
                try file.synchronize()
                let own = try FileDirectory(path)
                let directory = try own.making(Self.thumbnails).making(thumbnail.asset.shard)
                    .making(thumbnail.asset.rawValue)
                try incomingFiles().moveFile(id, to: directory, as: thumbnail.size.description)
                guard let opened = try directory.openFile(thumbnail.size.description) else {
                    throw .unavailable("The directory \(directory.path) was removed.")
                }
                return opened
            }
        } catch {
            // What cannot be removed now is swept later.
            _ = try? await running { () throws(FileFault) in try incomingFiles().removeFile(id) }
            throw error
        }
    }

    private func running<Value: Sendable>(
        _ work: @escaping @Sendable () throws(FileFault) -> Value
    ) async throws(ThumbnailFault) -> Value {
        do throws(FileFault) {
            return try await FileThreads.writing.run(work)
        } catch {
            throw .unavailable(error)
        }
    }

    private func incomingFiles() throws(FileFault) -> FileDirectory {
        let directory = try FileDirectory(path).directory(LocalFileStorage.incoming)
        guard let directory else { throw .unavailable("\(path)/\(LocalFileStorage.incoming) does not exist.") }
        return directory
    }

    // MARK: - Deleting

    package func delete(of name: AssetName) async throws(FileFault) {
        try await FileThreads.writing.run { () throws(FileFault) in try remove(of: name) }
    }

    /// Deletes the thumbnails of a file; may wait for the disk.
    func remove(of name: AssetName) throws(FileFault) {
        guard let shard = try FileDirectory(path).directory(Self.thumbnails)?.directory(name.shard),
            let directory = try shard.directory(name.rawValue)
        else { return }
        for thumbnail in try directory.names() { try directory.removeFile(thumbnail) }
        // One that is kept at this moment is deleted by who has made it.
        try shard.removeDirectory(name.rawValue)
    }
}

extension FileDirectory {
    /// Opens a directory in this one, and makes it if it does not exist.
    fileprivate func making(_ name: String) throws(FileFault) -> FileDirectory {
        if let known = try directory(name) { return known }
        try makeDirectory(name)
        guard let made = try directory(name) else { throw .unavailable("The directory \(path)/\(name) was removed.") }
        return made
    }
}

extension FileDescriptor {
    /// Writes all of the bytes; may wait for the disk.
    func put(_ bytes: [UInt8]) throws(FileFault) {
        do throws(ToolError) {
            try write(bytes)
        } catch {
            throw .system("Cannot write a file")
        }
    }

    /// Opens the file of a descriptor for reading at its start, also if it has no name any more.
    fileprivate convenience init(openingAgain file: FileDescriptor) throws(FileFault) {
        let number = uninterrupted { open("/proc/self/fd/\(file.number)", O_RDONLY | O_CLOEXEC) }
        guard number >= 0 else { throw .system("Cannot read a file") }
        self.init(owning: number)
    }
}
