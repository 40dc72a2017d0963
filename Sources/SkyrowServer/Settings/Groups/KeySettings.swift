import SkyrowJSON
package import SkyrowStore
package import SkyrowSystem

/// The service's API and master keys, each of which may be two keys during a change.
package final class KeySettings: SettingGroup {
    package static let title = "Keys"

    package init() {}

    package let apiKey = Setting<[String]>.keys(
        "api-key",
        minimumLength: 8,
        """
        The API key of applications; by default the one in the data directory, created at the first start. Two keys separated \
        by a space or a line break are both valid, so that a key can be replaced without an interruption.
        """
    )

    package let masterKey = Setting<[String]>.keys(
        "master-key",
        minimumLength: 16,
        """
        The key that bypasses every rule; by default the one in the data directory, created at the first start. Two keys \
        separated by a space or a line break are both valid, so that a key can be replaced without an interruption.
        """
    )

    package let secretsKey = Setting<String?>.file(
        "secrets-key",
        """
        A file with a line `k1:` and 32 bytes in Base64 for each key that seals secrets of users; the first key seals, and all \
        keys open. By default they are sealed with a key that is stored in the database.
        """
    )

    package static func check(_ settings: SettingValues<KeySettings>) throws(ToolError) {
        guard Set(settings.apiKey).isDisjoint(with: settings.masterKey) else {
            throw .configuration("api-key and master-key must differ.")
        }
    }
}

extension SettingValues<KeySettings> {
    /// Returns the keys in the file named by `secrets-key`; none without it.
    ///
    /// Throws `ToolError` for an unreadable file, or an invalid line, of which the error contains only the number.
    package func sealingKeys() throws(ToolError) -> [SealingKey] {
        guard let path = self.secretsKey else { return [] }
        let text = String(decoding: try bytesOfFile(path), as: UTF8.self)
        var keys: [SealingKey] = []
        for (number, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let words = line.split(whereSeparator: \.isWhitespace)
            guard let word = words.first, !word.hasPrefix("#") else { continue }
            let parts = word.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard words.count == 1, parts.count == 2, let bytes = decodeBase64(parts[1].utf8),
                let key = SealingKey(name: String(parts[0]), bytes: bytes)
            else {
                throw .configuration(
                    "secrets-key: line \(number + 1) of \(path) must be a name of lower-case letters and digits, a colon and 32 "
                        + "bytes in Base64."
                )
            }
            guard !keys.contains(where: { $0.name == key.name }) else {
                throw .configuration("secrets-key: line \(number + 1) of \(path) has a duplicate name.")
            }
            keys.append(key)
        }
        guard !keys.isEmpty else { throw .configuration("secrets-key: \(path) contains no key.") }
        return keys
    }
}
