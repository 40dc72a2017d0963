/// A setting of the tool: its name, and how its text becomes a value.
///
/// It is declared in a ``SettingGroup``. Its flag, environment variable, file key, line of `skyrow config` and section
/// of the manual are derived from that declaration.
///
/// ```swift
/// let port = Setting.integer("port", 3000, in: 0...65535, "The port to listen on; 0 takes any free one.")
/// ```
package struct Setting<Value: Sendable>: AnySetting {
    package var row: SettingRow
    /// The value without any source.
    package let defaultValue: Value
    /// Parses a text; nil if it is invalid.
    let parse: @Sendable (String) -> Value?

    /// - Parameters:
    ///   - shown: The text of the default value; empty for none.
    ///   - expectation: The end of the message "--port must be …".
    ///   - sentence: The setting's purpose in one sentence.
    package init(
        _ name: String,
        _ defaultValue: Value,
        shown: String,
        _ kind: SettingKind,
        mustBe expectation: String,
        _ sentence: String,
        parse: @escaping @Sendable (String) -> Value?
    ) {
        row = SettingRow(name: name, kind: kind, expectation: expectation, defaultValue: shown, sentence: sentence)
        self.defaultValue = defaultValue
        self.parse = parse
    }

    package func read(_ text: String) -> (any Sendable)? {
        parse(text).map { $0 }
    }

    /// This setting, reloaded from the file on SIGHUP.
    var reloading: Setting { changed { $0.reloads = true } }

    /// This setting, which each application may override.
    var ofApplications: Setting { changed { $0.isOfApplications = true } }

    /// This setting, specific to each application. The service's value is for the default application only.
    var ofEachApplication: Setting { ofApplications.changed { $0.isInherited = false } }

    /// This setting, never printed, and also readable from a file.
    package func secret(hasFlag: Bool) -> Setting {
        changed { row in
            row.isSecret = true
            row.hasFlag = hasFlag
        }
    }

    /// This setting, excluded from settings files.
    var outsideFiles: Setting { changed { $0.isInFile = false } }

    private func changed(_ change: (inout SettingRow) -> Void) -> Setting {
        var copy = self
        change(&copy.row)
        return copy
    }
}

/// A setting of any type.
package protocol AnySetting: Sendable {
    var row: SettingRow { get }
    /// Parses a text; nil if it is invalid.
    func read(_ text: String) -> (any Sendable)?
}

/// A row of the settings table.
package struct SettingRow: Hashable, Sendable {
    /// The name, such as `maximum-body`, from which the other spellings derive.
    package var name: String
    package var kind: SettingKind
    package var expectation: String
    /// The text of the default; empty for none.
    package var defaultValue: String
    package var sentence: String
    /// Whether the value is or may contain a secret. Secrets are never printed, and have a flag only for compatibility.
    package var isSecret = false
    var hasFlag = true
    var isInFile = true
    /// Whether the service reloads the value on SIGHUP.
    package var reloads = false
    /// Whether applications may override the value.
    package var isOfApplications = false
    /// Whether the service's value applies to applications without their own.
    var isInherited = true

    /// `--maximum-body`
    package var flag: String? { hasFlag ? "--\(name)" : nil }

    /// `SKYROW_MAXIMUM_BODY`
    package var variable: String {
        "SKYROW_" + String(name.uppercased().map { $0 == "-" ? "_" : $0 })
    }

    /// The row of the setting that names a secret's file; nil for other settings.
    package var fileRow: SettingRow? {
        guard isSecret else { return nil }
        var row = SettingRow(
            name: "\(name)-file",
            kind: .file,
            expectation: "the path of a file",
            defaultValue: "",
            sentence: "A file that contains only `\(name)`, such as a secret of Docker or Kubernetes."
        )
        row.isOfApplications = isOfApplications
        row.isInherited = isInherited
        return row
    }
}

/// The kind of a setting's text, for help and completion.
package enum SettingKind: Hashable, Sendable {
    /// Any text, with the placeholder in `--port <number>`.
    case text(String)
    case choice(String, of: [String])
    case file
    case directory
    /// `--development` and `--no-development`
    case flag

    package var valueName: String? {
        switch self {
        case .text(let name), .choice(let name, of: _): name
        case .file, .directory: "path"
        case .flag: nil
        }
    }
}
