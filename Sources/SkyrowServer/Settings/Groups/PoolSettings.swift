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
        "Connections that send waiting reads in pipelines."
    )

    package let maximumReadConnections = Setting.integer(
        "maximum-read-connections",
        6,
        in: 1...256,
        unit: "count",
        "How many of these there may be while slow reads hold others up."
    )

    package let maximumWriteConnections = Setting.integer(
        "maximum-write-connections",
        16,
        in: 1...256,
        unit: "count",
        "Connections for writes with a commit of their own, opened when needed."
    )

    package let maximumTransactionConnections = Setting.integer(
        "maximum-transaction-connections",
        8,
        in: 1...256,
        unit: "count",
        "Connections for transactions, opened when needed."
    )

    package let maximumReads = Setting.integer(
        "maximum-reads",
        256,
        in: 1...1_000_000,
        unit: "count",
        "How many reads are performed at once, of one client its `client-share`; more wait for their turn."
    )

    package let joinConcurrency = Setting.integer(
        "query-join-concurrency",
        64,
        in: 1...1_000_000,
        unit: "count",
        """
        How many queries that lead through several records or more than four references are performed at once, beside \
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
        How many queries for which no index serves and more than 10,000 records are read are performed at once, beside \
        `maximum-reads`; more wait for their turn. `auto` is one a processor, and two at least.
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
        Whether queries for which no index serves are performed; with `large-refused` those over types of more than 100,000 \
        records are refused with 120 to all but the master key.
        """
    )

    package let maximumQueue = Setting.integer(
        "maximum-queue",
        4096,
        in: 1...1_000_000,
        unit: "count",
        "How many statements may wait for a connection, and reads for their turn; one more is refused with 135."
    )

    package static func check(_ settings: SettingValues<PoolSettings>) throws(ToolError) {
        guard settings.readConnections <= settings.maximumReadConnections else {
            throw .configuration("read-connections must not be above maximum-read-connections.")
        }
    }
}
