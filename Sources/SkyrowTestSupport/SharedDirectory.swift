/// A directory that tests of this process share. A watchdog removes it when the process ends in any way.
package struct SharedDirectory: Sendable {
    package let path: String
    private let watchdog: ClusterWatchdog

    /// - Throws: ``TemporaryClusterError`` if it cannot be made.
    package init(named name: String) throws {
        path = try TemporaryDirectory.make(named: name)
        watchdog = try ClusterWatchdog(directory: path)
    }
}
