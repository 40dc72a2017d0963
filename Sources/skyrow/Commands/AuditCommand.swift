import ArgumentParser
import SkyrowActions
import SkyrowJSON
import SkyrowModel
import SkyrowProtocol
import SkyrowServer
import SkyrowStore
import SkyrowSystem

/// `skyrow audit`
struct AuditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit",
        abstract: "Show what happened to accounts and keys.",
        discussion: """
            Shows the newest matching events, the oldest of them first. With --json each event is an object on a separate line.
            """
    )

    @OptionGroup var options: DatabaseOptions

    @Flag(name: .customLong("json"), help: "Print each event as a JSON object on a separate line.")
    var isJSON = false

    @Option(
        help: ArgumentHelp("Only events of an account, given by its id, username or mail address.", valueName: "name")
    )
    var user: String?

    @Option(help: ArgumentHelp("Only events of a key, given by its id.", valueName: "id"))
    var key: String?

    @Option(
        name: .customLong("event"),
        help: ArgumentHelp("Only events of a kind, such as login or key.revoke; may be repeated.", valueName: "event")
    )
    var events: [String] = []

    @Option(help: ArgumentHelp("Only events since a time such as 2030-01-31T12:00:00Z, or 24h ago.", valueName: "time"))
    var since: String?

    @Option(help: ArgumentHelp("Only events before a time, in the same format.", valueName: "time"))
    var until: String?

    @Flag(help: "Only refused attempts.")
    var refusals = false

    @Option(help: ArgumentHelp("The maximum number of events (default: 100).", valueName: "count"))
    var limit = 100

    func validate() throws {
        guard (1...AuditFilter.maximumLimit).contains(limit) else {
            throw ValidationError("--limit must be a number from 1 to \(AuditFilter.maximumLimit).")
        }
        if let key, KeyID(key) == nil {
            throw ValidationError("--key must be the id of a key, as 'skyrow key list' shows it.")
        }
        let known = Set(AuditEvent.Kind.allCases.map(\.rawValue))
        for event in events where !known.contains(event) {
            throw ValidationError("--event must be one of \(known.sorted().joined(separator: ", ")).")
        }
    }

    func run() async throws {
        try await reportingErrors {
            let since = try since.map { text throws(ToolError) in try instant(text, "--since") }
            let until = try until.map { text throws(ToolError) in try instant(text, "--until") }
            try await withApplication(options, readsOnly: true) { application throws(ToolError) in
                let store = application.store
                var filter = AuditFilter(
                    key: key.flatMap { KeyID($0) },
                    events: events,
                    since: since,
                    until: until,
                    onlyRefusals: refusals,
                    limit: limit
                )
                if let user { filter.user = try await store.auditedUser(named: user) }
                let events = try await failingAsTool { try await store.audit.events(filter) }
                if isJSON {
                    for event in events { print(event.json) }
                    return
                }
                guard !events.isEmpty else { return print("No events match.") }
                let rows = events.map { event in
                    [
                        event.time.rfc3339, event.event, event.outcome, event.userID?.rawValue ?? "-",
                        event.actor ?? "-",
                        event.address ?? "-", event.keyID ?? "-",
                    ]
                }
                print(textTable([["TIME", "EVENT", "OUTCOME", "USER", "ACTOR", "ADDRESS", "KEY"]] + rows))
            }
        }
    }

    /// Parses a time, or a duration before now.
    private func instant(_ text: String, _ option: String) throws(ToolError) -> Timestamp {
        if let time = try? Timestamp(rfc3339: text) { return time }
        guard let ago = DurationText.duration(text) else {
            throw .usage("\(option) must be a time such as 2030-01-31T12:00:00Z or a duration such as 24h.")
        }
        return ServiceClock.system.now().adding(.zero - ago)
    }
}

extension RecordStore {
    /// Returns the id of an account; a deleted account is named by its id.
    fileprivate func auditedUser(named name: String) async throws(ToolError) -> UserID {
        do throws(ToolError) {
            return try await account(named: name).id
        } catch {
            let filter = AuditFilter(user: UserID(name), limit: 1)
            let found = try await failingAsTool { try await audit.events(filter) }
            guard !found.isEmpty else { throw error }
            return UserID(name)
        }
    }
}

extension StoredAuditEvent {
    /// `{"id":7,"at":"…","event":"login","outcome":"ok",…}`
    fileprivate var json: String {
        jsonObject { writer in
            writer.member("id", id)
            writer.member("at", time)
            writer.member("event", event)
            writer.member("outcome", outcome)
            for (name, text) in [
                ("user_id", userID?.rawValue), ("actor", actor), ("session_id", sessionID), ("key_id", keyID),
                ("address", address), ("request_id", requestID),
            ] {
                if let text { writer.member(named: name, text) }
            }
            if let data {
                writer.key("data")
                Array(data.utf8).withUnsafeBytes { writer.json(validated: $0) }
            }
        }
    }
}
