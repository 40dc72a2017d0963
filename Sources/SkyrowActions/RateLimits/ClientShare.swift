/// The share of a bounded resource that one client may hold, and the larger share of a site (``ClientKey/site``).
///
/// ```swift
/// ClientShare(percent: 25).client(of: 10_000)  // 2500
/// ClientShare(percent: 25).site(of: 10_000)    // 5000
/// ```
package struct ClientShare: Hashable, Sendable {
    private let percent: Int

    package static let usualPercent = 25

    /// - Parameter percent: 1 to 100; with 100 one client may hold everything.
    package init(percent: Int = ClientShare.usualPercent) {
        self.percent = percent
    }

    /// At least one, so that every client gets something of a small total.
    package func client(of total: Int) -> Int { max(1, total * percent / 100) }

    package func site(of total: Int) -> Int { max(1, total * min(2 * percent, 100) / 100) }
}
