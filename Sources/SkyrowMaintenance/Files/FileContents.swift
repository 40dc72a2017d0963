import Glibc
package import SkyrowActions
import SkyrowCrypto
package import SkyrowModel
package import SkyrowSystem

/// What was read of a file.
package struct FileContents: Hashable, Sendable {
    /// In bytes.
    package var size: Int64
    package var sha256: [UInt8]
    /// The media type that the first bytes show; nil if they show none.
    package var sniffed: String?

    package init(size: Int64, sha256: [UInt8], sniffed: String? = nil) {
        self.size = size
        self.sha256 = sha256
        self.sniffed = sniffed
    }

    /// Bytes of a file that are in memory at a time.
    static let partLength = 1 << 20

    /// Reads a file to its end.
    ///
    /// - Parameter next: Returns the next bytes; none at the end.
    init(reading next: () throws(ToolError) -> [UInt8]) throws(ToolError) {
        var hash = SHA256()
        size = 0
        while case let part = try next(), !part.isEmpty {
            if size == 0 { sniffed = SniffedType.of(part.prefix(SniffedType.examinedBytes)) }
            hash.update(part)
            size += Int64(part.count)
        }
        sha256 = hash.finish().bytes
    }

    /// Reads a file to its end, and passes each part to `body`.
    static func read(
        _ next: () throws(ToolError) -> [UInt8],
        _ body: (_ part: [UInt8]) async throws(ToolError) -> Void
    ) async throws(ToolError) -> FileContents {
        var hash = SHA256()
        var size: Int64 = 0
        while true {
            let part = try next()
            guard !part.isEmpty else { return FileContents(size: size, sha256: hash.finish().bytes) }
            hash.update(part)
            size += Int64(part.count)
            try await body(part)
        }
    }
}

extension FileDescriptor {
    /// Returns the next bytes of a file; none at its end.
    func nextPart() throws(ToolError) -> [UInt8] {
        try read(upTo: FileContents.partLength)
    }
}

// What commands do with a storage. Its faults become a `ToolError`.

extension FileStorage {
    /// Opens a file; nil if it does not exist.
    package func file(_ name: AssetName) async throws(ToolError) -> FileDescriptor? {
        let file = try await failingAsTool { () async throws(FileFault) in try await open(name) }
        guard let file else { return nil }
        switch file.source {
        case .descriptor(let descriptor): return descriptor
        case .remote(let remote): return try await copy(of: remote, size: file.size)
        }
    }

    /// Returns the size of a file in bytes; nil if it does not exist.
    func size(of name: AssetName) async throws(ToolError) -> Int64? {
        let file = try await failingAsTool { () async throws(FileFault) in try await open(name) }
        return file?.size
    }

    /// Returns a temporary file with the bytes of a file of another machine.
    private func copy(of remote: any RemoteFile, size: Int64) async throws(ToolError) -> FileDescriptor {
        let copy = try FileDescriptor.temporary()
        do {
            try await remote.read(0..<size) { part in try copy.write(part) }
        } catch let fault as FileFault {
            throw ToolError(fault)
        } catch let error as ToolError {
            throw error
        } catch {
            throw .failure("A file cannot be read: \(error)")
        }
        lseek(copy.number, 0, SEEK_SET)
        return copy
    }

    /// Reads a file; nil if it does not exist.
    func contents(of name: AssetName) async throws(ToolError) -> FileContents? {
        guard let file = try await file(name) else { return nil }
        return try FileContents(reading: file.nextPart)
    }

    /// Returns a page of the files behind a file.
    func page(after name: AssetName?, limit: Int = FileRow.pageLength) async throws(ToolError) -> [FileEntry] {
        try await failingAsTool { () async throws(FileFault) in try await files(after: name, limit: limit) }
    }

    func remove(_ name: AssetName) async throws(ToolError) {
        try await failingAsTool { () async throws(FileFault) in try await delete(name) }
    }

    /// Writes a file, which replaces one of the same name. Nothing is kept if an error is thrown.
    ///
    /// - Parameters:
    ///   - next: Returns the next bytes; none at the end.
    ///   - check: Called with what was read, before the file gets its name.
    func write(
        _ name: AssetName,
        _ next: () throws(ToolError) -> [UInt8],
        check: (FileContents) throws(ToolError) -> Void = { _ in }
    ) async throws(ToolError) -> FileContents {
        let file = try await failingAsTool { () async throws(FileFault) in try await begin(hashesMD5: false) }
        do throws(ToolError) {
            let contents = try await FileContents.read(next) { part throws(ToolError) in
                try await failingAsTool { () async throws(FileFault) in try await file.append(part) }
            }
            try check(contents)
            try await failingAsTool { () async throws(FileFault) in try await file.keep(as: name) }
            return contents
        } catch {
            await file.discard()
            throw error
        }
    }
}

/// Runs an operation of a storage, and turns its fault into a ``ToolError``.
private func failingAsTool<Success>(
    _ body: () async throws(FileFault) -> Success
) async throws(ToolError) -> Success {
    do throws(FileFault) {
        return try await body()
    } catch {
        throw ToolError(error)
    }
}

extension ToolError {
    fileprivate init(_ fault: FileFault) {
        self =
            switch fault {
            case .noSpace: .failure("The storage of the files is full.")
            case .unavailable(let reason): .failure("The files cannot be used: \(reason)")
            }
    }
}
