/// The text that a service prints on standard output when it is ready. Tests and scripts read the first line.
package struct Announcement: Sendable {
    let settings: Settings
    let keys: ServiceKeys
    /// The actual port, even if the setting is 0.
    let port: Int
    let directory: DataDirectory
    let program: String
    /// Whether the service started with an empty database.
    let isFirstStart: Bool
    /// Whether keys may be printed. Output that does not go to a terminal may end up in a log.
    let showsKeys: Bool

    package var text: String {
        var lines = ["Skyrow serves \(address)"]
        lines.append(
            settings.records.isDevelopment
                ? "Development mode: types and fields appear when they are first saved."
                : "The schema is frozen; change it with the schema actions and the master key, or in psql."
        )
        if keys.areNew {
            lines += [
                "",
                isFirstStart
                    ? "This is the first start. Two keys were created and stored in \(directory.keys)\(showsKeys ? ":" : ".")"
                    : "The keys of this database were missing. Two new ones were created and stored in \(directory.keys); "
                        + "applications with the old keys are refused\(showsKeys ? ":" : ".")",
            ]
            if showsKeys {
                lines += [
                    "  API key     \(keys.apiKeys[0])  admits applications",
                    "  master key  \(keys.masterKeys[0])  bypasses every rule: keep it secret",
                ]
            }
        }
        if isFirstStart {
            lines += [
                "",
                settings.records.isDevelopment ? "Save a first record:" : "Create a first type:",
                "  \(firstCall)",
                // The address may contain a password, so it is not repeated.
                settings.database.url == nil
                    ? "and look at it:" : "and look at it, with the same database-url:",
                "  \(psqlCall)",
            ]
        }
        if !keys.areNew, settings.keys.apiKey.isEmpty || settings.keys.masterKey.isEmpty {
            lines.append("The keys are in \(directory.keys).")
        }
        return lines.joined(separator: "\n")
    }

    private var address: String { settings.listeningURL(port: port) }

    /// A `curl` command that works when pasted into a shell.
    private var firstCall: String {
        let parameters =
            settings.records.isDevelopment
            ? #""method":"record:save","params":{"records":[{"_id":"note/first","content":"Hello"}]}"#
            : #""method":"schema:create","params":{"record_types":{"note":{"fields":[{"name":"content","type":"string"}]}}}"#
        return "curl \(address)/rpc -H \(keyField) -H 'Content-Type: application/json'"
            + " -d '{\"jsonrpc\":\"2.0\",\"id\":1,\(parameters)}'"
    }

    /// The header field with the master key, or with the shell expression that reads it.
    private var keyField: String {
        if showsKeys { return "'X-Skygear-API-Key: \(keys.masterKeys[0])'" }
        let variable = "$SKYROW_MASTER_KEY"
        let source = settings.keys.masterKey.isEmpty ? "$(. \(shellWord(directory.keys)); echo \(variable))" : variable
        return "\"X-Skygear-API-Key: \(source)\""
    }

    private var psqlCall: String {
        var words = [program, "psql"]
        if settings.database.url == nil { words += ["--data-directory", directory.path] }
        if settings.database.schema != "app" { words += ["--schema", settings.database.schema] }
        words += ["-c", "SELECT * FROM note"]
        return words.map(shellWord).joined(separator: " ")
    }
}

/// Returns the word quoted for a shell.
private func shellWord(_ word: String) -> String {
    let isPlain =
        !word.isEmpty
        && word.utf8.allSatisfy { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
                || (UInt8(ascii: "-")...UInt8(ascii: "9")).contains(byte)
                || byte == UInt8(ascii: "_")
        }
    return isPlain
        ? word : "'" + word.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#) + "'"
}
