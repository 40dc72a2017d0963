/// What all commands take.
struct GeneralSettings: SettingGroup {
    static let title = "Settings file"

    let config = Setting.file("config", "A JSON file of settings, whose keys are the settings' names.").outsideFiles
}
