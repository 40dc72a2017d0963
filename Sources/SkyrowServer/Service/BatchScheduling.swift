import Glibc

/// How Linux wakes the service's threads.
enum BatchScheduling {
    /// Lets the threads of this process, and those and the processes they start, wait their turn where every core is
    /// busy, in place of interrupting what runs.
    ///
    /// An event loop that interrupts the client, or the database, for each request finds one request at a time; one that
    /// waits a moment finds several, and one pipeline carries them all. It cost a fetch 15 % and a query 11 % less
    /// processor time under load, and on a machine with an idle core it changes nothing
    /// (Documentation/Decisions/0002-postgres-pipelines.md).
    static func adopt() {
        // A hint: a system that refuses it, as some containers do, runs the service all the same.
        for thread in threads() {
            var parameters = sched_param(sched_priority: 0)
            sched_setscheduler(thread, policy, &parameters)
        }
    }

    /// Linux's SCHED_BATCH, which Glibc shows to C with GNU extensions only (sched(7)).
    static let policy: CInt = 3

    /// The policy is a thread's own, and the runtime has started some threads already.
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
