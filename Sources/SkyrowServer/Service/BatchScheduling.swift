import Glibc

/// The Linux scheduling policy of the service's threads.
enum BatchScheduling {
    /// Makes the threads of this process, and the threads and processes they start, wait for a core when all cores are
    /// busy, instead of preempting the running thread.
    ///
    /// An event loop that preempts the client or the database for each request finds one request at a time. One that waits
    /// briefly finds several, and sends them in one pipeline. Under load, a fetch took 15 % and a query 11 % less processor
    /// time; on a machine with an idle core nothing changes (Documentation/Decisions/postgres-client.md).
    static func adopt() {
        // The policy is optional: some containers refuse it, and the service runs without it.
        for thread in threads() {
            var parameters = sched_param(sched_priority: 0)
            sched_setscheduler(thread, policy, &parameters)
        }
    }

    /// Linux's SCHED_BATCH. Glibc declares it with GNU extensions only (sched(7)).
    static let policy: CInt = 3

    /// Returns the existing threads. The policy is per thread, and the runtime has already started some.
    private static func threads() -> [pid_t] {
        guard let directory = opendir("/proc/self/task") else { return [] }
        defer { closedir(directory) }
        var threads: [pid_t] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { place in
                place.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if let thread = pid_t(name) { threads.append(thread) }
        }
        return threads
    }
}
