package import SkyrowModel
package import SkyrowSystem

/// The source of a setting's value.
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

    /// The source as the beginning of a sentence.
    package var description: String {
        switch self {
        case .flag(let flag): flag
        case .environment(let variable): variable
        case .file(let path, let key): "'\(key)' in \(path)"
        case .table(let name): "The table of the application \(name)"
        case .preset(let compatibility): "'compatibility' \(compatibility.rawValue)"
        }
    }

    /// Returns the error for a text that the setting does not accept.
    package func refusal(of text: String, _ row: SettingRow) -> ToolError {
        // A secret is never repeated, even if it is invalid.
        complaint("\(description) must be \(row.expectation)\(row.isSecret ? "" : "; it is '\(text)'").")
    }

    /// Makes an error with the exit code for an invalid command line, or for an invalid setting elsewhere.
    func complaint(_ sentence: String) -> ToolError {
        switch self {
        case .flag: .usage(sentence)
        case .environment, .file, .table, .preset: .configuration(sentence)
        }
    }
}
