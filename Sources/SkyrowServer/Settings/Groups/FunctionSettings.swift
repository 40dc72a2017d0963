import SkyrowRemote
package import SkyrowSystem

/// Settings of functions and hooks.
package final class FunctionSettings: SettingGroup {
    package static let title = "Functions"

    package init() {}

    /// What the programs that the service starts get as the address of the database.
    package enum Database: Hashable, Sendable {
        /// The address of the service's own database.
        case service
        case nothing
        case url(String)
    }

    package enum Reload: String, CaseIterable, Sendable {
        case auto, on, off
    }

    static let times: ClosedRange<Duration> = .milliseconds(100)...(.seconds(3600))
    static let concurrencies = 1...FunctionServerClient.maximumConcurrency

    package let servers = Setting<[FunctionServerPlan]>(
        "function-servers",
        [],
        shown: "",
        .text("servers"),
        mustBe:
            "names with addresses, separated by commas, such as main=http://127.0.0.1:8000,mail=http+unix://%2Frun%2Fmail.sock/",
        """
        The function servers that run already, each a name and its address: `main=http://127.0.0.1:8000`. They answer functions \
        and hooks of the default application; other applications have none.
        """
    ) { text in
        let plans = text.list { entry -> FunctionServerPlan? in
            let parts = entry.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, FunctionServerPlan.isName(parts[0]), let address = FunctionAddress(String(parts[1]))
            else { return nil }
            return FunctionServerPlan(String(parts[0]), at: .address(address))
        }
        guard let plans, Set(plans.map(\.name)).count == plans.count, plans.count <= FunctionServerPlan.maximumCount
        else { return nil }
        return plans
    }

    package let directory = Setting<String?>(
        "functions",
        nil,
        shown: "",
        .directory,
        mustBe: "the path of a directory",
        """
        The directory of functions, whose function servers the service starts, supervises and replaces when their files change: \
        those of its `functions.json`, or py-skygear for its files `*.py` and Node for its files `*.mjs`.
        """
    ) { text in
        text.isEmpty || text.utf8.contains(0) ? nil : .some(text)
    }

    package let timeout = Setting.duration(
        "function-timeout",
        .seconds(10),
        in: times,
        "For a call of a function, a handler or a provider; after it the connection is closed and the call fails with 119."
    )

    package let hookTimeout = Setting.duration(
        "hook-timeout",
        .seconds(5),
        in: times,
        "For a call of a hook; after it the connection is closed and the call fails with 119."
    )

    package let concurrency = Setting.integer(
        "function-concurrency",
        16,
        in: concurrencies,
        unit: "count",
        "The maximum number of concurrent calls of a function server; more wait for their turn, for half of their time at most."
    )

    package let queue = Setting.integer(
        "function-queue",
        256,
        in: 1...65_536,
        unit: "count",
        "How many calls may wait for a function server, of which one user or client has a quarter; one more fails with 135."
    )

    package let memory = Setting<Int?>(
        "function-memory",
        512 << 20,
        shown: "512MB",
        .text("memory"),
        mustBe: "an amount from 16MB to 1024GB, or 'off'",
        "The maximum resident memory of a function server that the service starts; one with more is replaced."
    ) { text in
        text == "off" ? .some(nil) : MemoryText.bytes(text).map { .some($0) }
    }

    package let maximumAnswer = Setting.integer(
        "function-answer",
        8 << 20,
        in: 1024...1 << 28,
        unit: "bytes",
        "The maximum size of the response of a function server, in bytes; a larger one is not read on and fails with 10000."
    )

    package let database = Setting<Database>(
        "function-database",
        .service,
        shown: "service",
        .text("database"),
        mustBe: "service, none, or a PostgreSQL address such as postgresql://user@host/database",
        """
        The database whose address is in `DATABASE_URL` of the function servers that the service starts: that of the service \
        (`service`), another one, or `none`.
        """
    ) { text in
        switch text {
        case "service": .service
        case "none": .nothing
        default: text.hasPrefix("postgresql://") || text.hasPrefix("postgres://") ? .url(text) : nil
        }
    }.secret(hasFlag: true)

    package let reload = Setting.choice(
        "function-reload",
        Reload.auto,
        of: "when",
        mustBe: "auto, on or off",
        """
        Whether a changed file of `functions` replaces its function server: `auto` means in development mode. SIGHUP always does.
        """
    )

    package static func check(_ settings: SettingValues<FunctionSettings>) throws(ToolError) {
        if case .url(let url) = settings.database {
            try DatabaseSettings.check(url, origin: settings.origin(of: \.database), name: "function-database")
        }
    }
}

extension Settings {
    /// Returns the function servers of the default application, in the order of the settings.
    ///
    /// Throws ``ToolError`` for a directory that describes none, and for a name that occurs twice.
    ///
    /// - Parameter node: The path of the function server for JavaScript.
    package func functionServers(node: String) throws(ToolError) -> [FunctionServerPlan] {
        let functions = self.functions
        var plans = functions.servers
        if let directory = functions.directory {
            plans += try FunctionDirectory.plans(in: directory, memory: functions.memory, node: node)
        }
        guard plans.count <= FunctionServerPlan.maximumCount else {
            throw .configuration("There can be at most \(FunctionServerPlan.maximumCount) function servers.")
        }
        var names: Set<String> = []
        for plan in plans where !names.insert(plan.name).inserted {
            throw .configuration("functions: the function server \(plan.name) is described twice.")
        }
        return plans
    }

    /// Whether changed files replace their function servers.
    var watchesFunctions: Bool {
        switch self.functions.reload {
        case .auto: self.records.isDevelopment
        case .on: true
        case .off: false
        }
    }
}
