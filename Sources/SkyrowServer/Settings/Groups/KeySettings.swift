package import SkyrowSystem

/// The two keys of a service.
package struct KeySettings: SettingGroup {
    package static let title = "Keys"

    package init() {}

    package let apiKey = Setting.key(
        "api-key",
        minimumLength: 8,
        "Lets applications in; without it the one in the data directory holds, made at the first start."
    )

    package let masterKey = Setting.key(
        "master-key",
        minimumLength: 16,
        "Passes every rule; without it the one in the data directory holds, made at the first start."
    )

    package static func check(_ settings: SettingValues<KeySettings>) throws(ToolError) {
        guard settings.apiKey == nil || settings.apiKey != settings.masterKey else {
            throw .configuration("api-key and master-key must differ.")
        }
    }
}
