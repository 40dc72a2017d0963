package import Glibc

/// A file descriptor that is closed with its last reference; children do not inherit it.
package final class FileDescriptor: Sendable {
    package let number: Int32
    private let end: @Sendable (Int32) -> Void

    /// Throws ``ToolError`` if the file cannot be opened.
    package convenience init(opening path: String, _ flags: Int32, mode: mode_t = 0o600) throws(ToolError) {
        let number = open(path, flags | O_CLOEXEC, mode)
        guard number >= 0 else { throw .system("Cannot open \(path)") }
        self.init(owning: number)
    }

    /// - Parameter end: Closes the file.
    package init(owning number: Int32, closing end: @escaping @Sendable (Int32) -> Void = { _ = close($0) }) {
        self.number = number
        self.end = end
    }

    /// The two ends of a new pipe.
    package static func pipe() throws(ToolError) -> (reading: FileDescriptor, writing: FileDescriptor) {
        var ends: [Int32] = [-1, -1]
        guard Glibc.pipe(&ends) == 0 else { throw .system("Cannot create a pipe") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (FileDescriptor(owning: ends[0]), FileDescriptor(owning: ends[1]))
    }

    deinit {
        end(number)
    }

    /// Reads up to `count` bytes; an empty result means the end of the file.
    package func read(upTo count: Int) throws(ToolError) -> [UInt8] {
        var failed = false
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            var received = -1
            repeat {
                received = Glibc.read(number, buffer.baseAddress, count)
            } while received < 0 && errno == EINTR
            failed = received < 0
            initialized = max(received, 0)
        }
        guard !failed else { throw .system("Cannot read") }
        return bytes
    }

    /// Writes all of the bytes.
    package func write(_ bytes: some Collection<UInt8>) throws(ToolError) {
        let bytes = Array(bytes)
        var written = 0
        while written < bytes.count {
            let count = bytes[written...].withUnsafeBytes { Glibc.write(number, $0.baseAddress, $0.count) }
            if count < 0 {
                guard errno == EINTR else { throw .system("Cannot write") }
            } else {
                written += count
            }
        }
    }
}

/// The text of a small file; nil if it does not exist or cannot be read.
package func contentsOfFile(_ path: String) -> String? {
    (try? bytesOfFile(path)).map { String(decoding: $0, as: UTF8.self) }
}

/// The bytes of a small file; throws ``ToolError`` if it does not exist or cannot be read.
package func bytesOfFile(_ path: String) throws(ToolError) -> [UInt8] {
    let file = try FileDescriptor(opening: path, O_RDONLY)
    var bytes: [UInt8] = []
    while case let chunk = try file.read(upTo: 65536), !chunk.isEmpty { bytes += chunk }
    return bytes
}

/// The names in a directory without `.` and `..`; nil if it does not exist or cannot be read.
package func contentsOfDirectory(_ path: String) -> [String]? {
    guard let directory = opendir(path) else { return nil }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
        let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
            pointer.withMemoryRebound(to: CChar.self, capacity: Int(NAME_MAX) + 1) { String(cString: $0) }
        }
        if name != ".", name != ".." { names.append(name) }
    }
    return names
}

/// Creates a directory that only its owner can access, with its parents, unless it exists.
package func makeDirectory(_ path: String) throws(ToolError) {
    var made = path.hasPrefix("/") ? "" : "."
    let components = path.split(separator: "/")
    for (index, component) in components.enumerated() {
        made += "/\(component)"
        let mode: mode_t = index == components.count - 1 ? 0o700 : 0o755
        guard mkdir(made, mode) == 0 || errno == EEXIST else { throw .system("Cannot create the directory \(path)") }
    }
}

/// Removes a directory with its contents; symbolic links are removed, not followed.
package func removeTree(_ path: String) throws(ToolError) {
    for name in contentsOfDirectory(path) ?? [] {
        let child = "\(path)/\(name)"
        var status = stat()
        if lstat(child, &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
            try removeTree(child)
        } else if unlink(child) != 0 {
            throw .system("Cannot remove \(child)")
        }
    }
    guard rmdir(path) == 0 || errno == ENOENT else { throw .system("Cannot remove \(path)") }
}

/// The target of a symbolic link; nil for any other path.
package func targetOfLink(_ path: String) -> String? {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink(path, &buffer, buffer.count)
    return count < 0 ? nil : String(decoding: buffer[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
}

/// The absolute path without `.`, `..` and links; nil if nothing exists there.
package func resolvedPath(_ path: String) -> String? {
    guard let resolved = realpath(path, nil) else { return nil }
    defer { free(resolved) }
    return String(cString: resolved)
}

/// Whether the path is a directory, or a link to one.
package func isDirectory(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
}
