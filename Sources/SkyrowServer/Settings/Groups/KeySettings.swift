/// The two keys of a service.
struct KeySettings: SettingGroup {
    static let title = "Keys"

    let apiKey = Setting.key(
        "api-key",
        minimumLength: 8,
        "Lets applications in; without it the one in the data directory holds, made at the first start."
    )

    let masterKey = Setting.key(
        "master-key",
        minimumLength: 16,
        "Passes every rule; without it the one in the data directory holds, made at the first start."
    )

    static func check(_ settings: SettingValues<KeySettings>) throws(ToolError) {
        guard settings.apiKey == nil || settings.apiKey != settings.masterKey else {
            throw .configuration("api-key and master-key must differ.")
        }
    }
}
