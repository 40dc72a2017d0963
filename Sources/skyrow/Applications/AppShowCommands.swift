import ArgumentParser
import SkyrowJSON
import SkyrowModel
import SkyrowPostgres
import SkyrowProtocol
import SkyrowServer
import SkyrowStore
import SkyrowSystem

/// `skyrow app list`
struct AppListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "Show the applications.")

    @OptionGroup var options: RegistryOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await reportingErrors {
            let settings = try options.loader.load()
            try await withRegistry(settings, readsOnly: true) { registry throws(ToolError) in
                let found = try await failingAsTool { try await registry.applications() }
                let standard = found.first { $0.name == .default }
                let others = found.filter { $0.name != .default }
                if output.isJSON {
                    return print(ApplicationText.json(others, standard, schema: settings.database.schema))
                }
                let rows =
                    [["app", settings.database.schema, "the service's own", ApplicationText.hosts(standard)]]
                    + others.map {
                        [$0.name.rawValue, $0.schema.name, ApplicationText.state($0), ApplicationText.hosts($0)]
                    }
                print(textTable([["name", "schema", "state", "host names"]] + rows))
            }
        }
    }
}

/// `skyrow app show`
struct AppShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show an application with its keys, by their first characters, and its settings."
    )

    @OptionGroup var options: RegistryOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The name of the application.")
    var name: String

    func run() async throws {
        try await reportingErrors {
            let name = try applicationName(name)
            try await withRegistry(try options.loader.load(), readsOnly: true) { registry throws(ToolError) in
                let (application, settings) = try await failingAsTool {
                    let application = try await registry.application(named: name)
                    return (application, try await registry.settings(of: application.schema))
                }
                print(
                    output.isJSON
                        ? jsonObject { application.write(to: $0, settings: settings) }
                        : ApplicationText.text(application, settings)
                )
            }
        }
    }
}

/// The text and JSON output of applications.
enum ApplicationText {
    static func hosts(_ application: RegisteredApplication?) -> String {
        guard let hosts = application?.hosts, !hosts.isEmpty else { return "-" }
        return hosts.map(\.rawValue).joined(separator: ", ")
    }

    static func state(_ application: RegisteredApplication) -> String {
        application.isDisabled ? "disabled" : "enabled"
    }

    /// Returns the value of a setting; a placeholder for secrets.
    static func shown(_ value: String, of setting: String) -> String {
        SettingsTable.rows.contains { $0.name == setting && $0.isSecret } ? "<secret>" : value
    }

    static func text(_ application: RegisteredApplication, _ settings: [String: String]) -> String {
        var rows = [
            ["name", application.name.rawValue], ["schema", application.schema.name], ["state", state(application)],
            ["created", application.createdAt.rfc3339], ["host names", hosts(application)],
        ]
        for key in application.keys {
            let end = key.expiresAt.map { ", ends \($0.rfc3339)" } ?? ""
            rows.append(["\(key.kind.rawValue) key", "\(key.hint)…, created \(key.createdAt.rfc3339)\(end)"])
        }
        for (name, value) in settings.sorted(by: { $0.key < $1.key }) { rows.append([name, shown(value, of: name)]) }
        return textTable(rows)
    }

    /// - Parameter standard: The default application's entry in the registry.
    static func json(_ others: [RegisteredApplication], _ standard: RegisteredApplication?, schema: String) -> String {
        jsonObject { writer in
            writer.beginArray("applications")
            writer.beginObject()
            writer.member("name", ApplicationName.default.rawValue)
            writer.member("schema", schema)
            writer.member("disabled", false)
            writer.member("hosts", (standard?.hosts ?? []).map(\.rawValue))
            writer.endObject()
            for application in others {
                writer.beginObject()
                application.write(to: writer)
                writer.endObject()
            }
            writer.endArray()
        }
    }
}

extension RegisteredApplication {
    /// Writes the members of an object; including the keys if there are settings.
    func write(to writer: JSONWriter, settings: [String: String]? = nil) {
        writer.member("name", name.rawValue)
        writer.member("schema", schema.name)
        writer.member("disabled", isDisabled)
        writer.member("created_at", createdAt.rfc3339)
        writer.member("hosts", hosts.map(\.rawValue))
        guard let settings else { return }
        writer.beginArray("keys")
        for key in keys {
            writer.beginObject()
            writer.member("kind", key.kind.rawValue)
            writer.member("hint", key.hint)
            writer.member("created_at", key.createdAt.rfc3339)
            if let end = key.expiresAt { writer.member("expires_at", end.rfc3339) }
            writer.endObject()
        }
        writer.endArray()
        writer.beginObject("settings")
        for (name, value) in settings.sorted(by: { $0.key < $1.key }) {
            writer.member(named: name, ApplicationText.shown(value, of: name))
        }
        writer.endObject()
    }
}
