package import SkyrowModel
package import SkyrowSystem

/// Who said what a setting is.
package enum SettingOrigin: Hashable, Sendable {
    /// `--port`
    case flag(String)
    /// `SKYROW_PORT`
    case environment(String)
    /// `port` of a settings file
    case file(String, key: String)
    /// The table of an application in the database
    case table(ApplicationName)
    /// The setting `compatibility`
    case preset(Compatibility)

    /// The place as a sentence begins with it.
    package var description: String {
        switch self {
        case .flag(let flag): flag
        case .environment(let variable): variable
        case .file(let path, let key): "'\(key)' in \(path)"
        case .table(let name): "The table of the application \(name)"
        case .preset(let compatibility): "'compatibility' \(compatibility.rawValue)"
        }
    }

    /// What to say about a text that the setting cannot be.
    package func refusal(of text: String, _ row: SettingRow) -> ToolError {
        // A secret is not repeated, not even a wrong one.
        complaint("\(description) must be \(row.expectation)\(row.isSecret ? "" : "; it is '\(text)'").")
    }

    /// A complaint with the exit code of a wrong command line, or of a wrong setting elsewhere.
    func complaint(_ sentence: String) -> ToolError {
        switch self {
        case .flag: .usage(sentence)
        case .environment, .file, .table, .preset: .configuration(sentence)
        }
    }
}
