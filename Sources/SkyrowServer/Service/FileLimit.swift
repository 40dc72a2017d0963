import Glibc
import SkyrowActions

/// The limit of the process's open files. Each connection is one.
enum FileLimit {
    /// Raises the limit to this user's maximum and returns it.
    static func raise() -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 }
        var raised = limit
        raised.rlim_cur = limit.rlim_max
        let isRaised = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised) == 0
        return Int(clamping: isRaised ? raised.rlim_cur : limit.rlim_cur)
    }

    /// Returns how many of the wanted client connections are possible.
    ///
    /// The reserve is for the database, the log, cached files, and clients that are refused: a process without a free descriptor
    /// cannot accept a connection even to refuse it.
    static func connections(wanted: Int, files: Int) -> Int {
        max(1, min(wanted, files - 512))
    }

    /// Returns how many files may stay open after their download: at most half of the reserve.
    static func cachedFiles(files: Int) -> Int {
        min(ServiceConfiguration.defaultFileCacheSize, files / 4)
    }
}
