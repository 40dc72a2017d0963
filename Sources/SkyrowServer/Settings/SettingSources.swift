import SkyrowModel
import SkyrowSystem

/// The sources of settings: flags take precedence over the environment, and the environment over the file.
///
/// An application's own settings take precedence over these, which apply to the whole service: first its section of the
/// file, then its table in the database.
package struct SettingSources: Sendable {
    /// The text found for a setting.
    struct Found: Hashable, Sendable {
        var text: String
        var origin: SettingOrigin
    }

    private let flags: [String: String]
    private let environment: [String: String]
    private let file: SettingsFile?
    private let application: ApplicationSource?

    /// An application's own settings.
    struct ApplicationSource: Sendable {
        var name: ApplicationName
        /// The settings in its database table, by name.
        var stored: [String: String]
    }

    /// - Parameters:
    ///   - flags: The flags by setting name.
    ///   - environment: The environment; empty variables are ignored.
    ///   - application: The application of the settings; nil for the service.
    init(
        flags: [String: String],
        environment: [String: String],
        file: SettingsFile? = nil,
        application: ApplicationSource? = nil
    ) {
        self.flags = flags
        self.environment = environment.filter { !$0.value.isEmpty }
        self.file = file
        self.application = application
    }

    /// Returns the text of a setting, or the contents of a secret's file; nil without any source.
    ///
    /// Throws ``ToolError`` if such a file is unreadable, or a secret is given in both ways by the same source.
    func find(_ row: SettingRow) throws(ToolError) -> Found? {
        let plain = look(up: row)
        guard let fileRow = row.fileRow, let file = look(up: fileRow) else { return plain?.found }
        if let plain {
            if plain.place == file.place {
                throw file.found.origin.complaint(
                    "\(plain.found.origin.description) and \(file.found.origin.description) are both set: remove one of them."
                )
            }
            if plain.place < file.place { return plain.found }
        }
        do {
            let content = String(decoding: try bytesOfFile(file.found.text), as: UTF8.self)
            // Editors and echo add a line break, which is not part of a key.
            let secret = String(content.reversed().drop { $0.isNewline }.reversed())
            return Found(text: secret, origin: file.found.origin)
        } catch {
            throw file.found.origin.complaint("\(file.found.origin.description): \(error)")
        }
    }

    /// Returns the text from the source with the highest precedence, and that source's rank.
    private func look(up row: SettingRow) -> (found: Found, place: Int)? {
        if let application, row.isOfApplications {
            let name = application.name
            if let file, let text = file.applications[name]?[row.name] {
                return (Found(text: text, origin: .file(file.path, key: "applications.\(name).\(row.name)")), 0)
            }
            if let text = application.stored[row.name] { return (Found(text: text, origin: .table(name)), 0) }
        }
        guard application == nil || row.isInherited else { return nil }
        let texts: [(text: String?, origin: SettingOrigin)] = [
            (flags[row.name], .flag("--\(row.name)")),
            (environment[row.variable], .environment(row.variable)),
            (file?.texts[row.name], .file(file?.path ?? "", key: row.name)),
        ]
        for (place, source) in texts.enumerated() {
            if let text = source.text { return (Found(text: text, origin: source.origin), place) }
        }
        return nil
    }

    // MARK: - Unknown names

    /// Variables with our prefix that are no settings: only tests and benchmarks read them, or function servers, whose programs may
    /// call this one.
    private static let foreignVariables: Set<String> = {
        let names = FunctionEnvironment.ownVariables.union([
            "SKYROW_POSTGRES_BIN", "SKYROW_TEST_LIMIT", "SKYROW_TEST_SEED",
        ])
        #if DEBUG
            return names.union(["SKYROW_TEST_LATE", "SKYROW_TEST_PATIENCE"])
        #else
            return names
        #endif
    }()

    /// Throws ``ToolError`` for an unknown variable or file key, and suggests the nearest name.
    func refuseUnknownNames(rows: [SettingRow]) throws(ToolError) {
        let variables = rows.map(\.variable)
        let known = SettingSources.foreignVariables.union(variables)
        for variable in environment.keys.sorted() where variable.hasPrefix("SKYROW_") && !known.contains(variable) {
            throw .configuration("\(variable) is not a setting\(hint(nearestName(to: variable, of: variables)))")
        }
        guard let file else { return }
        let keys = rows.filter(\.isInFile).map(\.name)
        for key in file.texts.keys.sorted() where !keys.contains(key) {
            throw .configuration("'\(key)' in \(file.path) is not a setting\(hint(nearestName(to: key, of: keys)))")
        }
        let ofApplications = rows.filter(\.isOfApplications).map(\.name)
        for (name, texts) in file.applications.sorted(by: { $0.key < $1.key }) {
            for key in texts.keys.sorted() where !ofApplications.contains(key) {
                throw .configuration(
                    "'applications.\(name).\(key)' in \(file.path) is not a setting of an application"
                        + hint(nearestName(to: key, of: ofApplications))
                )
            }
        }
    }

    private func hint(_ name: String?) -> String {
        name.map { "; did you mean \($0)?" } ?? "; `skyrow config` lists all."
    }
}
