import Glibc
import SkyrowActions
import SkyrowSystem

/// An open directory of a file storage. Its entries are used by name, and links are not followed.
///
/// Every method may wait for a disk.
struct FileDirectory: Sendable {
    /// For messages.
    let path: String
    private let directory: FileDescriptor

    /// Opens a directory; its parents may be links, and the directory itself only with `followsLink`.
    init(_ path: String, followsLink: Bool = false) throws(FileFault) {
        let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | (followsLink ? 0 : O_NOFOLLOW)
        let number = uninterrupted { open(path, flags) }
        guard number >= 0 else { throw .system("Cannot open the directory \(path)") }
        self.path = path
        directory = FileDescriptor(owning: number)
    }

    private init(_ directory: FileDescriptor, path: String) {
        self.path = path
        self.directory = directory
    }

    // MARK: - Directories in it

    /// Opens a directory in this one; nil if nothing has this name.
    func directory(_ name: String) throws(FileFault) -> FileDirectory? {
        let number = uninterrupted { openat(directory.number, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) }
        guard number >= 0 else {
            if errno == ENOENT { return nil }
            throw .system("Cannot open the directory \(path)/\(name)")
        }
        return FileDirectory(FileDescriptor(owning: number), path: "\(path)/\(name)")
    }

    /// Makes a directory that only its owner can use, unless it exists.
    func makeDirectory(_ name: String) throws(FileFault) {
        guard mkdirat(directory.number, name, 0o700) == 0 || errno == EEXIST else {
            throw .system("Cannot create the directory \(path)/\(name)")
        }
    }

    // MARK: - Files in it

    /// Creates a file that only its owner can use, and opens it for reading and writing; the caller closes the descriptor.
    func createFile(_ name: String) throws(FileFault) -> CInt {
        let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        let number = uninterrupted { openat(directory.number, name, flags, 0o600) }
        guard number >= 0 else { throw .system("Cannot create \(path)/\(name)") }
        _ = isLocked(number)
        return number
    }

    /// Excludes other writers of an incoming file; false if there is one. The system ends the lock with the descriptor (flock(2)), even
    /// after `kill -9`. A file system without locks excludes none.
    private func isLocked(_ file: CInt) -> Bool {
        uninterrupted { flock(file, LOCK_EX | LOCK_NB) } == 0 || errno != EWOULDBLOCK
    }

    /// Opens a file that was created in this directory; nil if nothing has this name, and if it is shorter than `length`. Fails while
    /// another descriptor of it from here is open, in any process.
    func resumeFile(_ name: String, length: Int64) throws(FileFault) -> FileDescriptor? {
        let number = uninterrupted {
            openat(directory.number, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        }
        guard number >= 0 else {
            if errno == ENOENT { return nil }
            throw .system("Cannot open \(path)/\(name)")
        }
        let file = FileDescriptor(owning: number)
        guard isLocked(number) else { throw .unavailable("Another process writes \(path)/\(name).") }
        var status = stat()
        guard fstat(number, &status) == 0 else { throw .system("Cannot inspect \(path)/\(name)") }
        // Meanwhile it may have got its name, or have been removed.
        guard status.st_nlink > 0, status.st_mode & S_IFMT == S_IFREG, status.st_size >= length,
            faccessat(directory.number, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0
        else { return nil }
        return file
    }

    /// Opens a regular file for reading, and reads it if it has at most `limit` bytes; nil if nothing has this name.
    func openFile(_ name: String, readingUpTo limit: Int? = nil) throws(FileFault) -> OpenedFile? {
        // With O_NONBLOCK, opening a FIFO does not wait for a writer.
        let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
        let number = uninterrupted { openat(directory.number, name, flags) }
        guard number >= 0 else {
            if errno == ENOENT { return nil }
            throw .system("Cannot open \(path)/\(name)")
        }
        // An event loop may release the last reference, and a deleted file frees its blocks when it is closed.
        let file = FileDescriptor(owning: number) { number in FileThreads.reading.start { close(number) } }
        var status = stat()
        guard fstat(number, &status) == 0 else { throw .system("Cannot inspect \(path)/\(name)") }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw .unavailable("\(path)/\(name) is not a regular file.")
        }
        let size = Int(status.st_size)
        let isRead = limit.map { size <= $0 } ?? false
        let content = isRead ? try file.bytes(at: 0, upTo: size) : nil
        return OpenedFile(.descriptor(file), size: Int64(size), content: content?.count == size ? content : nil)
    }

    /// Returns the size and the time of a regular file; nil for anything else, and if nothing has this name.
    func status(ofFile name: String) throws(FileFault) -> (size: Int64, modifiedAt: timespec)? {
        var status = stat()
        guard fstatat(directory.number, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
            if errno == ENOENT { return nil }
            throw .system("Cannot inspect \(path)/\(name)")
        }
        guard status.st_mode & S_IFMT == S_IFREG else { return nil }
        return (Int64(status.st_size), status.st_mtim)
    }

    /// Moves a file to another directory of the same file system, where it replaces a file of the same name.
    func moveFile(_ name: String, to other: FileDirectory, as newName: String) throws(FileFault) {
        guard renameat(directory.number, name, other.directory.number, newName) == 0 else {
            throw .system("Cannot move \(path)/\(name) to \(other.path)/\(newName)")
        }
    }

    /// Removes a file or link; returns false if nothing has this name.
    @discardableResult
    func removeFile(_ name: String) throws(FileFault) -> Bool {
        if unlinkat(directory.number, name, 0) == 0 { return true }
        if errno == ENOENT { return false }
        throw .system("Cannot remove \(path)/\(name)")
    }

    /// Removes an empty directory, if there is one; returns false for one that is not empty.
    @discardableResult
    func removeDirectory(_ name: String) throws(FileFault) -> Bool {
        if unlinkat(directory.number, name, AT_REMOVEDIR) == 0 || errno == ENOENT { return true }
        if errno == ENOTEMPTY || errno == EEXIST { return false }
        throw .system("Cannot remove the directory \(path)/\(name)")
    }

    // MARK: - The whole

    /// Returns the names in the directory without `.` and `..`, in no particular order.
    func names() throws(FileFault) -> [String] {
        // readdir(3) moves the position of its descriptor, and closedir(3) closes it.
        let copy = uninterrupted { openat(directory.number, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        guard copy >= 0 else { throw .system("Cannot read the directory \(path)") }
        guard let stream = fdopendir(copy) else {
            let fault = FileFault.system("Cannot read the directory \(path)")
            close(copy)
            throw fault
        }
        defer { closedir(stream) }
        var names: [String] = []
        while true {
            // readdir(3) returns NULL at the end as well as for an error.
            errno = 0
            guard let entry = readdir(stream) else {
                guard errno == 0 else { throw .system("Cannot read the directory \(path)") }
                return names
            }
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: Int(NAME_MAX) + 1) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
    }

    /// Returns the bytes that processes without the rights of root can still write to its file system.
    func freeSpace() throws(FileFault) -> Int64 {
        var status = statvfs()
        guard uninterrupted({ fstatvfs(directory.number, &status) }) == 0 else {
            throw .system("Cannot inspect the file system of \(path)")
        }
        // File systems without a bound may report the largest number of blocks.
        let (bytes, isMore) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
        return isMore ? .max : Int64(clamping: bytes)
    }

    /// Makes the names in the directory durable.
    func synchronize() throws(FileFault) {
        guard uninterrupted({ fsync(directory.number) }) == 0 else {
            throw .system("Cannot write the directory \(path)")
        }
    }
}

extension FileFault {
    /// The fault of a call of the C library that has failed, by `errno`: "Cannot open files/app: Permission denied."
    static func system(_ attempt: String) -> FileFault {
        let code = errno
        if code == ENOSPC || code == EDQUOT { return .noSpace }
        return .unavailable("\(attempt): \(String(cString: strerror(code))).")
    }
}

/// Repeats a call of the C library while signals interrupt it.
func uninterrupted(_ call: () -> CInt) -> CInt {
    while true {
        let result = call()
        if result >= 0 || errno != EINTR { return result }
    }
}
