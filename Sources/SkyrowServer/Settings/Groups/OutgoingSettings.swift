package import SkyrowRemote

/// Settings of requests to other services.
package final class OutgoingSettings: SettingGroup {
    package static let title = "Requests to other services"

    package init() {}

    package let proxy = Setting<WebProxy?>(
        "outgoing-proxy",
        nil,
        shown: "",
        .text("URL"),
        mustBe: "the URL of a proxy with its port, such as http://proxy.internal:3128",
        """
        The HTTP proxy through which the service reaches identity providers; mail does not go through it. The proxy resolves \
        the names of other services, so it must refuse those in your network.
        """
    ) { text in
        WebProxy(text).map { .some($0) }
    }
}
