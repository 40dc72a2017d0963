package import SkyrowSystem

/// How the service uses its database.
package struct PoolSettings: SettingGroup {
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
