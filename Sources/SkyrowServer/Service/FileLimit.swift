import Glibc

/// How many files the process may have open; each connection is one.
enum FileLimit {
    /// Raises the limit as far as this user may, and answers it.
    static func raise() -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 }
        var raised = limit
        raised.rlim_cur = limit.rlim_max
        let isRaised = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised) == 0
        return Int(clamping: isRaised ? raised.rlim_cur : limit.rlim_cur)
    }

    /// How many of the clients that were asked for can be connected.
    ///
    /// What is kept back is for the database, the log, and those clients that get a refusal: a process
    /// without a file left can accept no connection, not even to refuse it.
    static func connections(wanted: Int, files: Int) -> Int {
        max(1, min(wanted, files - 512))
    }
}
