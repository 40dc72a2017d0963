package import SkyrowSystem

/// The two keys of a service, each of which may be two while it is changed.
package struct KeySettings: SettingGroup {
    package static let title = "Keys"

    package init() {}

    package let apiKey = Setting<[String]>.keys(
        "api-key",
        minimumLength: 8,
        """
        Lets applications in; without it the one in the data directory holds, made at the first start. Two with a space or a \
        line break between them both count, so that one replaces the other without an interruption.
        """
    )

    package let masterKey = Setting<[String]>.keys(
        "master-key",
        minimumLength: 16,
        """
        Passes every rule; without it the one in the data directory holds, made at the first start. Two with a space or a line \
        break between them both count, so that one replaces the other without an interruption.
        """
    )

    package static func check(_ settings: SettingValues<KeySettings>) throws(ToolError) {
        guard Set(settings.apiKey).isDisjoint(with: settings.masterKey) else {
            throw .configuration("api-key and master-key must differ.")
        }
    }
}
