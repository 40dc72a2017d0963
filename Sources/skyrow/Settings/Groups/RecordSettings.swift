/// How records and their types are treated.
struct RecordSettings: SettingGroup {
    static let title = "Records"

    let isDevelopment = Setting.flag(
        "development",
        false,
        "Whether types and fields appear when they are first saved."
    )
}
