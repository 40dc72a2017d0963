/// Settings of timeouts.
package final class TimeSettings: SettingGroup {
    package static let title = "Time"

    package init() {}

    package let header = Setting.duration(
        "header-timeout",
        .seconds(15),
        "From the opening of a connection to the head of its first request."
    )
    package let idle = Setting.duration(
        "idle-timeout",
        .seconds(75),
        "From a response to the next request of the connection."
    )
    package let body = Setting.duration(
        "body-timeout",
        .seconds(60),
        "From the head of a request to the end of its body."
    )
    package let response = Setting.duration(
        "response-timeout",
        .seconds(60),
        "From a request to its response; after it the work is cancelled and the request fails with 122."
    )
    package let write = Setting.duration("write-timeout", .seconds(30), "For a client that does not read its response.")
    package let drain = Setting.duration(
        "drain-time",
        .zero,
        in: .zero...(.seconds(3600)),
        "From SIGTERM to the shutdown; meanwhile requests are served and `/readyz` is false, so that proxies notice."
    )
    package let shutdown = Setting.duration(
        "shutdown-timeout",
        .seconds(30),
        "For accepted requests to finish when the service shuts down."
    )
    package let connect = Setting.duration(
        "database-connect-timeout",
        .seconds(5),
        "For one attempt to connect to PostgreSQL, unless its address says otherwise."
    )
    package let acquire = Setting.duration(
        "database-acquire-timeout",
        .seconds(10),
        in: .milliseconds(100)...(.seconds(3600)),
        "For a statement to get a connection; after it the statement fails with 135."
    )
    package let statement = Setting.duration(
        "statement-timeout",
        .seconds(30),
        in: .milliseconds(100)...(.seconds(86_400)),
        "For one statement to run in PostgreSQL."
    )
    package let readStatement = Setting.duration(
        "read-statement-timeout",
        .seconds(10),
        in: .milliseconds(100)...(.seconds(86_400)),
        "For a statement that only reads, if that is less."
    )
    package let idleTransaction = Setting.duration(
        "idle-transaction-timeout",
        .seconds(60),
        "For a transaction without a statement; after it PostgreSQL terminates it."
    )
}
