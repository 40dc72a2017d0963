import SkyrowServer
import SkyrowSystem

/// The parts of the documentation that are made from the program itself.
enum Manual {
    /// Every file's text, by its path below `Documentation/`.
    ///
    /// Throws ``ToolError`` when ArgumentParser describes the commands in a form that is not understood.
    static func files() throws(ToolError) -> [String: String] {
        var files = ["Settings.md": SettingsManual.text]
        for page in ManualPage.pages(of: try CommandHelp.all()) {
            files["man/\(page.name).1"] = page.text
        }
        return files
    }
}
