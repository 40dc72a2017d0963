import Glibc

/// The settings of a new cluster, at the end of its `postgresql.conf`, where the operator may change them.
package struct ClusterSettings: Hashable, Sendable {
    /// In megabytes.
    let sharedBuffers: Int
    let effectiveCacheSize: Int

    /// For a machine with this many megabytes of memory.
    ///
    /// An eighth of it caches pages, a gigabyte at most: twice what a million small records take, and little enough that
    /// the server still starts in a tenth of a second. What lies beyond it is in the system's cache.
    package init(machineMemory: Int) {
        sharedBuffers = min(max(machineMemory / 8, 128), 1024)
        effectiveCacheSize = max(machineMemory / 2, 512)
    }

    /// For this machine.
    static var ofThisMachine: ClusterSettings {
        ClusterSettings(machineMemory: machineMemory.map { $0 >> 20 } ?? 1024)
    }

    /// The bytes of memory of this machine; nil when the system does not provide it.
    package static var machineMemory: Int? {
        let pages = sysconf(Int32(_SC_PHYS_PAGES))
        let pageSize = sysconf(Int32(_SC_PAGESIZE))
        return pages > 0 && pageSize > 0 ? pages * pageSize : nil
    }

    package var text: String {
        """

        # Skyrow's choices for this machine, made once with the cluster; change them as you like.
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
        # No statement's text or error in the log: the service logs what concerns it.
        log_min_messages = log
        log_min_error_statement = panic

        """
    }
}
