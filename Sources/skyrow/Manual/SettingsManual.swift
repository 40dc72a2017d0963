import SkyrowServer
import SkyrowSystem

/// `Documentation/Settings.md`, generated from the settings table.
enum SettingsManual {
    static var text: String {
        var text = """
            # Settings

            <!-- Made by `make manual` from Sources/SkyrowServer/Settings; changes belong there. -->

            Every setting has one name in three spellings: `maximum-body` is the flag `--maximum-body`, the variable
            `SKYROW_MAXIMUM_BODY`, and a key of the settings file. The flag wins over the variable, the variable over the file,
            and a setting that is not given has its default. `skyrow config` shows what holds and where it comes from.

            The settings file is named by `--config` or `SKYROW_CONFIG` and holds one JSON object:

            ```json
            {
              "host": "0.0.0.0",
              "data-directory": "/var/lib/skyrow",
              "login-keys": ["email"],
              "statement-timeout": "10s",
              "master-key-file": "/run/secrets/skyrow-master-key"
            }
            ```

            - A variable that begins with `SKYROW_`, or a key of the file, that is no setting stops the start, as does a value that
              makes no sense. Variables that are empty count as none.
            - Durations are whole numbers with `ms`, `s`, `m`, `h` or `d`; without a unit they are seconds. Relative paths start in the
              directory in which the command runs.
            - Secrets are never printed. Keys have no flag, since the command line of a process is public on its machine; each secret
              can be read from a file instead, and an end of line there does not count.
            - SIGHUP has the service read the file again. Settings marked with ↻ then take their new values; of others that have
              changed the log says that they wait for the next start. Something wrong in the file leaves all as it was.
            - Settings marked with ◇ can differ by [application](Operations.md#applications): the file has them under
              `{"applications": {"shop": {"development": false}}}`, `skyrow app set` in the database, and both win over what the
              service has. `skyrow config --application shop` shows what holds.
            - In Kubernetes, a Service of the name `skyrow` gives every pod variables such as `SKYROW_PORT=tcp://…`, which are taken
              for settings: call the Service otherwise, or set `enableServiceLinks: false`.

            The exit status of every command:

            | Status | Meaning |
            |---|---|

            """
        for status in ExitStatus.allCases { text += "| \(status.rawValue) | \(status.meaning) |\n" }
        for group in SettingsTable.groups {
            text += "\n## \(group.title)\n\n| Setting | Variable | Default | Meaning |\n|---|---|---|---|\n"
            for setting in group.settings {
                for row in [setting.row] + [setting.row.fileRow].compactMap(\.self) { text += line(row) }
            }
        }
        return text
    }

    private static func line(_ row: SettingRow) -> String {
        let name = "`\(row.flag ?? row.name)`" + (row.reloads ? " ↻" : "") + (row.isOfApplications ? " ◇" : "")
        let defaultValue = row.defaultValue.isEmpty ? "" : "`\(row.defaultValue)`"
        let expectation = "Must be \(row.expectation)."
        let cells = [name, "`\(row.variable)`", defaultValue, "\(row.sentence) \(expectation)"]
        return "| " + cells.map { $0.replacing("|", with: "\\|") }.joined(separator: " | ") + " |\n"
    }
}
