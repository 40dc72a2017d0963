package import SkyrowActions
package import SkyrowSystem

/// Settings of the database connections.
package final class PoolSettings: SettingGroup {
    package static let title = "Database connections"

    package init() {}

    package let readConnections = Setting.integer(
        "read-connections",
        2,
        in: 1...256,
        unit: "count",
        "The number of connections that send waiting reads in pipelines."
    )

    package let maximumReadConnections = Setting.integer(
        "maximum-read-connections",
        6,
        in: 1...256,
        unit: "count",
        "The maximum number of these connections while slow reads block others."
    )

    package let maximumWriteConnections = Setting.integer(
        "maximum-write-connections",
        16,
        in: 1...256,
        unit: "count",
        "The maximum number of connections for writes with a separate commit, opened when needed."
    )

    package let maximumTransactionConnections = Setting.integer(
        "maximum-transaction-connections",
        8,
        in: 1...256,
        unit: "count",
        "The maximum number of connections for transactions, opened when needed."
    )

    package let maximumReads = Setting.integer(
        "maximum-reads",
        256,
        in: 1...1_000_000,
        unit: "count",
        "The maximum number of concurrent reads, of which one client has its `client-share`; more wait for their turn."
    )

    package let joinConcurrency = Setting.integer(
        "query-join-concurrency",
        64,
        in: 1...1_000_000,
        unit: "count",
        """
        The maximum number of concurrent queries that join several records or more than four references, in addition to \
        `maximum-reads`; more wait for their turn.
        """
    )

    package let scanConcurrency = Setting<Int?>(
        "query-scan-concurrency",
        nil,
        shown: "auto",
        .text("count"),
        mustBe: "a whole number from 1 to 1000000, or 'auto'",
        """
        The maximum number of concurrent queries that read more than 10,000 records without an index, in addition to \
        `maximum-reads`; more wait for their turn. `auto` is one per processor, at least two.
        """
    ) { text in
        if text == "auto" { return .some(nil) }
        return Int(text).flatMap { (1...1_000_000).contains($0) ? .some($0) : nil }
    }

    package let scans = Setting.choice(
        "query-scans",
        ScanPolicy.allow,
        of: "scans",
        """
        Whether queries without a usable index are performed; with `large-refused`, those over types of more than 100,000 \
        records fail with 120 for all but the master key.
        """
    )

    package let maximumQueue = Setting.integer(
        "maximum-queue",
        4096,
        in: 1...1_000_000,
        unit: "count",
        "How many statements may wait for a connection, and how many reads for their turn; one more fails with 135."
    )

    package static func check(_ settings: SettingValues<PoolSettings>) throws(ToolError) {
        guard settings.readConnections <= settings.maximumReadConnections else {
            throw .configuration("read-connections must not exceed maximum-read-connections.")
        }
    }
}
