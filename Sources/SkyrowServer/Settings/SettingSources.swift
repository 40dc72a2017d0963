import SkyrowModel
import SkyrowSystem

/// Where settings come from: flags, which win over the environment, which wins over the file.
///
/// What an application has of its own wins over all of these, which are the whole service's: its section of the file
/// first, then its table in the database.
package struct SettingSources: Sendable {
    /// What a setting was said to be.
    struct Found: Hashable, Sendable {
        var text: String
        var origin: SettingOrigin
    }

    private let flags: [String: String]
    private let environment: [String: String]
    private let file: SettingsFile?
    private let application: ApplicationSource?

    /// What an application has of its own.
    struct ApplicationSource: Sendable {
        var name: ApplicationName
        /// What its table in the database holds, by the settings' names.
        var stored: [String: String]
    }

    /// - Parameters:
    ///   - flags: by the settings' names.
    ///   - environment: a variable that is empty counts as none.
    ///   - application: the one that the settings are for; nil for the service.
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

    /// The text of a setting, or of the file that a secret is in; nil without any source.
    ///
    /// Throws ``ToolError`` when such a file cannot be read, or a secret is given in both ways at once.
    func find(_ row: SettingRow) throws(ToolError) -> Found? {
        let plain = look(up: row)
        guard let fileRow = row.fileRow, let file = look(up: fileRow) else { return plain?.found }
        if let plain {
            if plain.place == file.place {
                throw file.found.origin.complaint(
                    "\(plain.found.origin.description) and \(file.found.origin.description) are both set: keep one of them."
                )
            }
            if plain.place < file.place { return plain.found }
        }
        do {
            let content = String(decoding: try bytesOfFile(file.found.text), as: UTF8.self)
            // An editor or echo ends the line; a key does not.
            let secret = String(content.reversed().drop { $0.isNewline }.reversed())
            return Found(text: secret, origin: file.found.origin)
        } catch {
            throw file.found.origin.complaint("\(file.found.origin.description): \(error)")
        }
    }

    /// The text of the strongest source that has one, and the source's place in their order.
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

    // MARK: - Names that are none

    /// Variables that begin like ours and are read by the tests and the benchmarks alone.
    private static let foreignVariables: Set<String> = {
        let names: Set = ["SKYROW_POSTGRES_BIN", "SKYROW_TEST_LIMIT", "SKYROW_TEST_SEED"]
        #if DEBUG
            return names.union(["SKYROW_TEST_LATE"])
        #else
            return names
        #endif
    }()

    /// Throws ``ToolError`` for a variable or a key of the file that is no setting, and names the nearest one.
    func refuseUnknownNames(rows: [SettingRow]) throws(ToolError) {
        let variables = rows.map(\.variable)
        let known = SettingSources.foreignVariables.union(variables)
        for variable in environment.keys.sorted() where variable.hasPrefix("SKYROW_") && !known.contains(variable) {
            throw .configuration("\(variable) is no setting\(hint(nearestName(to: variable, of: variables)))")
        }
        guard let file else { return }
        let keys = rows.filter(\.isInFile).map(\.name)
        for key in file.texts.keys.sorted() where !keys.contains(key) {
            throw .configuration("'\(key)' in \(file.path) is no setting\(hint(nearestName(to: key, of: keys)))")
        }
        let ofApplications = rows.filter(\.isOfApplications).map(\.name)
        for (name, texts) in file.applications.sorted(by: { $0.key < $1.key }) {
            for key in texts.keys.sorted() where !ofApplications.contains(key) {
                throw .configuration(
                    "'applications.\(name).\(key)' in \(file.path) is no setting of an application"
                        + hint(nearestName(to: key, of: ofApplications))
                )
            }
        }
    }

    private func hint(_ name: String?) -> String {
        name.map { "; did you mean \($0)?" } ?? "; `skyrow config` lists all."
    }
}
