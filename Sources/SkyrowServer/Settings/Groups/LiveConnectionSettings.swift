import SkyrowHTTP
package import SkyrowSystem

/// Settings of WebSockets and event streams.
package final class LiveConnectionSettings: SettingGroup {
    package static let title = "Connections that stay"

    package init() {}

    package let isOn = Setting.flag("live", true, "Serve WebSockets at GET /rpc and event streams.")

    package let connections = Setting.integer(
        "live-connections",
        10_000,
        in: 1...1_000_000,
        unit: "count",
        "How many WebSockets and event streams may be open at once; they count among maximum-connections too."
    )

    package let connectionsOfUser = Setting.integer(
        "live-connections-per-user",
        50,
        in: 1...1_000_000,
        unit: "count",
        "How many of them one user may have."
    )

    package let connectionsOfClient = Setting.integer(
        "live-connections-per-client",
        200,
        in: 1...1_000_000,
        unit: "count",
        "How many of them one client address may have."
    )

    package let buffer = Setting.integer(
        "live-buffer",
        1 << 20,
        in: 1 << 16...1 << 30,
        unit: "bytes",
        "How many bytes of live messages may wait for one client; beyond, they are dropped and resumed when it has read."
    )

    package let memory = Setting.integer(
        "live-memory",
        64 << 20,
        in: 1 << 20...1 << 40,
        unit: "bytes",
        "How many bytes of live messages may wait for all clients; beyond, those of the client with most of them are dropped."
    )

    package static func check(_ settings: SettingValues<LiveConnectionSettings>) throws(ToolError) {
        guard settings.buffer <= settings.memory else {
            throw .configuration("live-buffer must not be above live-memory.")
        }
    }
}

extension LiveLimits {
    init(_ settings: Settings) {
        let live = settings.liveConnections
        self.init(
            isOn: live.isOn,
            connections: live.connections,
            connectionsOfUser: live.connectionsOfUser,
            connectionsOfClient: live.connectionsOfClient,
            buffer: live.buffer,
            memory: live.memory
        )
    }
}
