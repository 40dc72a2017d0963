import Glibc

/// The settings of a new cluster, at the end of its `postgresql.conf`, where the operator may change them.
package struct ClusterSettings: Hashable, Sendable {
    /// Megabytes.
    let sharedBuffers: Int
    let effectiveCacheSize: Int

    /// Makes the settings for a machine with this many megabytes of memory.
    ///
    /// An eighth of the memory caches pages, at most a gigabyte. That is twice the size of a million small records, and
    /// small enough for the server to start in a tenth of a second. The system's page cache holds the rest.
    package init(machineMemory: Int) {
        sharedBuffers = min(max(machineMemory / 8, 128), 1024)
        effectiveCacheSize = max(machineMemory / 2, 512)
    }

    /// The settings for this machine.
    static var ofThisMachine: ClusterSettings {
        ClusterSettings(machineMemory: machineMemory.map { $0 >> 20 } ?? 1024)
    }

    /// The machine's memory in bytes; nil if unavailable.
    package static var machineMemory: Int? {
        let pages = sysconf(Int32(_SC_PHYS_PAGES))
        let pageSize = sysconf(Int32(_SC_PAGESIZE))
        return pages > 0 && pageSize > 0 ? pages * pageSize : nil
    }

    package var text: String {
        """

        # Skyrow's settings for this machine, written once when the cluster was created; change them as you like.
        # The service itself sets listen_addresses, port, unix_socket_*, wal_level, max_replication_slots and max_wal_senders
        # on the command line.
        shared_buffers = \(sharedBuffers)MB
        effective_cache_size = \(effectiveCacheSize)MB
        random_page_cost = 1.1
        jit = off
        max_wal_size = 2GB
        checkpoint_timeout = 15min
        wal_compression = on
        timezone = 'UTC'
        log_timezone = 'UTC'
        log_checkpoints = off
        # No text or error of statements in the log: the service logs its own errors.
        log_min_messages = log
        log_min_error_statement = panic

        """
    }
}
