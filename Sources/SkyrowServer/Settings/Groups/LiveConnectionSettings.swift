import NIOCore
import SkyrowHTTP
package import SkyrowSystem

/// Settings of WebSockets and event streams.
package final class LiveConnectionSettings: SettingGroup {
    package static let title = "Live connections"

    package init() {}

    package let isOn = Setting.flag("live", true, "Serve WebSockets at GET /rpc and event streams.")

    package let connections = Setting.integer(
        "live-connections",
        10_000,
        in: 1...1_000_000,
        unit: "count",
        "The maximum number of open WebSockets and event streams; they also count towards maximum-connections."
    )

    package let connectionsOfUser = Setting.integer(
        "live-connections-per-user",
        50,
        in: 1...1_000_000,
        unit: "count",
        "The maximum number of these per user."
    )

    package let connectionsOfClient = Setting.integer(
        "live-connections-per-client",
        200,
        in: 1...1_000_000,
        unit: "count",
        "The maximum number of these per client address."
    )

    package let buffer = Setting.integer(
        "live-buffer",
        1 << 20,
        in: 1 << 16...1 << 30,
        unit: "bytes",
        "The maximum size of live messages that wait for one client, in bytes; beyond it, they are dropped and resumed when the "
            + "client has read."
    )

    package let memory = Setting.integer(
        "live-memory",
        64 << 20,
        in: 1 << 20...1 << 40,
        unit: "bytes",
        "The maximum size of live messages that wait for all clients, in bytes; beyond it, those of the client with the most are "
            + "dropped."
    )

    package static func check(_ settings: SettingValues<LiveConnectionSettings>) throws(ToolError) {
        guard settings.buffer <= settings.memory else {
            throw .configuration("live-buffer must not exceed live-memory.")
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
        guard TestPatience.isSet else { return }
        (authentication, silence, lagging) = (.hours(1), .hours(1), .hours(1))
        falls = .max
    }
}
