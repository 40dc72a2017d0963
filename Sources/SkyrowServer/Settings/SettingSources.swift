import Configuration
import SkyrowSystem

/// Where settings come from: flags, which win over the environment, which wins over the file.
package struct SettingSources: Sendable {
    /// What a setting was said to be.
    struct Found: Hashable, Sendable {
        var text: String
        var origin: SettingOrigin
    }

    private let environment: [String: String]
    private let file: SettingsFile?
    /// The strongest first. The library's reader would ask them in this order too, but not say whose the answer was.
    private let providers: [any ConfigProvider]

    /// - Parameters:
    ///   - flags: by the settings' names.
    ///   - environment: a variable that is empty counts as none.
    init(flags: [String: String], environment: [String: String], file: SettingsFile? = nil) {
        self.environment = environment.filter { !$0.value.isEmpty }
        self.file = file
        providers = [
            InMemoryProvider(flags),
            EnvironmentVariablesProvider(environmentVariables: self.environment),
            InMemoryProvider(file?.texts ?? [:]),
        ]
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

    /// The first provider's text, and the provider's place in their order.
    private func look(up row: SettingRow) -> (found: Found, place: Int)? {
        let origins: [SettingOrigin] = [
            .flag("--\(row.name)"), .environment(row.variable), .file(file?.path ?? "", key: row.name),
        ]
        for (place, provider) in providers.enumerated() {
            let result = try? provider.value(forKey: AbsoluteConfigKey(setting: row.name), type: .string)
            guard case .string(let text) = result?.value?.content else { continue }
            return (Found(text: text, origin: origins[place]), place)
        }
        return nil
    }

    // MARK: - Names that are none

    /// Variables that begin like ours and are read by the tests and the benchmarks alone.
    private static let foreignVariables: Set = ["SKYROW_POSTGRES_BIN", "SKYROW_TEST_LIMIT", "SKYROW_TEST_SEED"]

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
    }

    private func hint(_ name: String?) -> String {
        name.map { "; did you mean \($0)?" } ?? "; `skyrow config` lists all."
    }
}

extension AbsoluteConfigKey {
    /// `skyrow.maximum-body`, which the library's environment provider spells SKYROW_MAXIMUM_BODY.
    fileprivate init(setting name: String) {
        self.init(["skyrow", name])
    }
}

extension InMemoryProvider {
    fileprivate init(_ texts: [String: String]) {
        let values = texts.map { (AbsoluteConfigKey(setting: $0.key), ConfigValue(.string($0.value), isSecret: true)) }
        self.init(values: Dictionary(uniqueKeysWithValues: values))
    }
}
