/// One setting of the tool: what it is called and how its text becomes a value.
///
/// It is declared in a ``SettingGroup``, and nothing else has to be said about it anywhere: its flag, its variable, its
/// key in the file, `skyrow config` and the manual follow.
///
/// ```swift
/// let port = Setting.integer("port", 3000, in: 0...65535, "The port to listen on; 0 takes any free one.")
/// ```
package struct Setting<Value: Sendable>: AnySetting {
    package var row: SettingRow
    /// The value without any source.
    package let defaultValue: Value
    /// nil for a text that makes no sense.
    let parse: @Sendable (String) -> Value?

    /// - Parameters:
    ///   - shown: the text that stands for `standard`; empty when that is nothing.
    ///   - expectation: ends the sentence "--port must be …".
    ///   - sentence: what the setting is for, one sentence.
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

    /// This setting, taken again from the file when the service gets SIGHUP.
    var reloading: Setting {
        var copy = self
        copy.row.reloads = true
        return copy
    }

    /// This setting, which each application may have of its own.
    var ofApplications: Setting {
        var copy = self
        copy.row.isOfApplications = true
        return copy
    }

    /// This setting, of which each application has its own value or none: that of the service is the default application's alone.
    var ofEachApplication: Setting {
        var copy = ofApplications
        copy.row.isInherited = false
        return copy
    }

    /// This setting, never printed, and read from a file as well.
    package func secret(hasFlag: Bool) -> Setting {
        var copy = self
        copy.row.isSecret = true
        copy.row.hasFlag = hasFlag
        return copy
    }

    /// This setting, which a settings file cannot hold.
    var outsideFiles: Setting {
        var copy = self
        copy.row.isInFile = false
        return copy
    }
}

/// A setting of any type.
package protocol AnySetting: Sendable {
    var row: SettingRow { get }
    /// The value that a text stands for, or nil.
    func read(_ text: String) -> (any Sendable)?
}

/// A line of the table of settings.
package struct SettingRow: Hashable, Sendable {
    /// `maximum-body`, from which the other spellings follow.
    package var name: String
    package var kind: SettingKind
    package var expectation: String
    /// The default as a text; empty when there is none.
    package var defaultValue: String
    package var sentence: String
    /// A key or what may hold a password: never printed, and no flag unless one was always there.
    package var isSecret = false
    var hasFlag = true
    var isInFile = true
    /// Whether the service takes a new value on SIGHUP.
    package var reloads = false
    /// Whether each application may have a value of its own.
    package var isOfApplications = false
    /// Whether the service's value holds for the applications that have none of their own.
    var isInherited = true

    /// `--maximum-body`
    package var flag: String? { hasFlag ? "--\(name)" : nil }

    /// `SKYROW_MAXIMUM_BODY`
    package var variable: String {
        "SKYROW_" + String(name.uppercased().map { $0 == "-" ? "_" : $0 })
    }

    /// What names the file that holds a secret; nil for all other settings.
    package var fileRow: SettingRow? {
        guard isSecret else { return nil }
        var row = SettingRow(
            name: "\(name)-file",
            kind: .file,
            expectation: "the path of a file",
            defaultValue: "",
            sentence: "A file that holds `\(name)` and nothing else, such as a secret of Docker or Kubernetes."
        )
        row.isOfApplications = isOfApplications
        row.isInherited = isInherited
        return row
    }
}

/// What a setting's text looks like, for help and completion.
package enum SettingKind: Hashable, Sendable {
    /// Any text; the name stands in `--port <number>`.
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
