/// Settings of all commands.
package final class GeneralSettings: SettingGroup {
    package static let title = "Settings file"

    package init() {}

    package let config = Setting.file("config", "A JSON file of settings, whose keys are the names of the settings.")
        .outsideFiles
}
