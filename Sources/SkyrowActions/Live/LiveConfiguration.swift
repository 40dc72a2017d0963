/// The configuration of live queries.
package struct LiveConfiguration: Sendable {
    /// The source of changes.
    package enum Source: String, Hashable, Sendable, CaseIterable {
        /// Logical decoding where it is available, polling elsewhere.
        case auto
        case logical
        case polling
        /// None: live queries are off.
        case off
    }

    package var source: Source
    package var limits: SubscriptionLimits
    /// The pause between two polls for changes.
    package var pollInterval: Duration
    /// Bytes that a connection may have accepted and not yet written, as configured in the transport.
    package var outletBuffer: Int

    package init(
        source: Source = .auto,
        limits: SubscriptionLimits = SubscriptionLimits(),
        pollInterval: Duration = .milliseconds(20),
        outletBuffer: Int = 2 << 20
    ) {
        self.source = source
        self.limits = limits
        self.pollInterval = pollInterval
        self.outletBuffer = outletBuffer
    }
}
