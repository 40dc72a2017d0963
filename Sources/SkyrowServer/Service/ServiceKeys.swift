import Glibc
import SkyrowActions
import SkyrowJSON
import SkyrowSystem

/// The API and master keys of a service, from its settings or its data directory.
package struct ServiceKeys: Hashable, Sendable {
    /// One key, or two during a key change; the first one is shown.
    var apiKeys: [String]
    var masterKeys: [String]
    /// Whether a key was made by this start and is not yet shown.
    var areNew = false

    /// Takes the given keys, then those in the file, and makes and stores the missing ones.
    ///
    /// A shell can read the file (`. data/keys`), and only its owner may. Throws ``ToolError`` if it cannot be read or written.
    static func resolve(apiKeys: [String], masterKeys: [String], file: String) throws(ToolError) -> ServiceKeys {
        if !apiKeys.isEmpty, !masterKeys.isEmpty { return ServiceKeys(apiKeys: apiKeys, masterKeys: masterKeys) }
        // New keys have another file name until the operator has seen them, even if this start fails before that.
        let areNew = access(file, F_OK) != 0
        let current = areNew ? unannounced(file) : file
        if areNew, access(current, F_OK) != 0 {
            try publish("SKYROW_API_KEY=\(randomKey())\nSKYROW_MASTER_KEY=\(randomKey())\n", as: current)
        }
        guard let kept = contentsOfFile(current) else { throw .system("Cannot read \(current)") }
        guard let keptAPIKey = value(of: "SKYROW_API_KEY", in: kept),
            let keptMasterKey = value(of: "SKYROW_MASTER_KEY", in: kept)
        else {
            throw .failure("\(file) does not contain SKYROW_API_KEY and SKYROW_MASTER_KEY: correct it or move it away.")
        }
        return ServiceKeys(
            apiKeys: apiKeys.isEmpty ? [keptAPIKey] : apiKeys,
            masterKeys: masterKeys.isEmpty ? [keptMasterKey] : masterKeys,
            areNew: areNew
        )
    }

    /// The keys that the service accepts.
    var given: GivenKeys { GivenKeys(api: apiKeys.map { Secret($0) }, master: masterKeys.map { Secret($0) }) }

    /// Renames the file after the operator has seen the keys.
    static func announced(file: String) {
        _ = rename(unannounced(file), file)
    }

    private static func unannounced(_ file: String) -> String {
        "\(file).new"
    }

    private static func value(of name: String, in content: String) -> String? {
        for line in content.split(separator: "\n") where line.hasPrefix("\(name)=") {
            let value = String(line.dropFirst(name.count + 1))
            return value.isEmpty ? nil : value
        }
        return nil
    }

    /// Creates a complete file, unless another process has created it.
    private static func publish(_ content: String, as path: String) throws(ToolError) {
        let draft = "\(path).\(getpid())"
        let file = try FileDescriptor(opening: draft, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
        defer { unlink(draft) }
        try file.write(content.utf8)
        guard fsync(file.number) == 0 else { throw .system("Cannot write \(draft)") }
        guard link(draft, path) == 0 || errno == EEXIST else { throw .system("Cannot create \(path)") }
    }

    /// Returns 256 random bits in hexadecimal.
    private static func randomKey() -> String {
        var generator = SystemRandomNumberGenerator()
        return Hexadecimal.text(of: (0..<4).map { _ in generator.next() })
    }
}
