import Glibc

/// The state of the watched files of a function server.
struct WatchedFiles: Hashable, Sendable {
    /// What differs when a file has changed.
    struct Stamp: Hashable, Sendable {
        var inode: UInt64
        var size: Int64
        var seconds: Int
        var nanoseconds: Int
    }

    /// Upper bound on the files that are looked at.
    static let maximumCount = 10_000

    var stamps: [String: Stamp] = [:]

    init(_ stamps: [String: Stamp] = [:]) {
        self.stamps = stamps
    }

    /// Looks at the files that match the patterns. It may wait for the disk.
    init(_ patterns: [String], in directory: String) {
        // The directory is no pattern.
        let prefix = directory.map { "*?[\\".contains($0) ? "\\\($0)" : "\($0)" }.joined()
        for pattern in patterns {
            var matches = glob_t()
            defer { globfree(&matches) }
            guard glob("\(prefix)/\(pattern)", GLOB_NOSORT, nil, &matches) == 0, let paths = matches.gl_pathv else {
                continue
            }
            for index in 0..<min(Int(matches.gl_pathc), Self.maximumCount) {
                guard let path = paths[index] else { break }
                var status = stat()
                guard stat(path, &status) == 0 else { continue }
                stamps[String(cString: path)] = Stamp(
                    inode: UInt64(status.st_ino),
                    size: Int64(status.st_size),
                    seconds: status.st_mtim.tv_sec,
                    nanoseconds: status.st_mtim.tv_nsec
                )
            }
        }
    }
}

/// Decides when changed files replace a function server: when two looks in a row are equal, so that no half of a change is taken.
struct ReloadPlan: Sendable {
    private var loaded: WatchedFiles?
    private var last: WatchedFiles?

    /// Takes a look at the files; returns whether they replace the server.
    mutating func look(_ files: WatchedFiles) -> Bool {
        defer { last = files }
        guard let loaded else {
            self.loaded = files
            return false
        }
        guard files != loaded, files == last else { return false }
        self.loaded = files
        return true
    }
}
