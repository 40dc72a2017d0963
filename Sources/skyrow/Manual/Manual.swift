import SkyrowServer
import SkyrowSystem

/// The documentation that the program makes: `Documentation/Settings.md` and the man pages.
enum Manual {
    /// Returns the text of every file, by its path in the directory that `skyrow manual` fills.
    ///
    /// Throws ``ToolError`` if ArgumentParser's description of the commands has an unknown form.
    static func files() throws(ToolError) -> [String: String] {
        var files = ["Settings.md": SettingsManual.text]
        for page in ManualPage.pages(of: try CommandHelp.all()) { files["man/\(page.name).1"] = page.text }
        return files
    }
}
