/// How live queries are served.
package struct LiveConfiguration: Sendable {
    /// Where changes come from.
    package enum Source: String, Hashable, Sendable, CaseIterable {
        /// PostgreSQL's log where it can be decoded, questions elsewhere.
        case auto
        case logical
        case polling
        /// Nowhere: there are no live queries.
        case off
    }

    package var source: Source
    package var limits: SubscriptionLimits
    /// The pause between two questions where changes are asked for.
    package var pollInterval: Duration
    /// Bytes that a connection may have taken and not written, as the transport has it.
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
