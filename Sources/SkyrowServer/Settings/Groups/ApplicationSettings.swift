package import SkyrowModel

/// The setting that selects a maintenance command's application.
package final class ApplicationSettings: SettingGroup {
    package static let title = "Application"

    package init() {}

    package let name = Setting(
        "application",
        ApplicationName.default,
        shown: ApplicationName.default.rawValue,
        .text("name"),
        mustBe: "the name of an application, as `skyrow app list` shows it",
        "The application that a command works on; `app` is the application in the setting `schema`."
    ) {
        try? ApplicationName($0)
    }.outsideFiles
}
