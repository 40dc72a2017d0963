import SkyrowTestSupport
import Testing

extension OracleRun {
    /// Reads files by their names and by the fields of records, and puts them into records.
    ///
    /// - Parameter rules: those of the fields of cards.
    mutating func files(of client: OracleClient, _ rules: [String: OracleFieldRule] = [:]) async throws {
        let open = openFiles(to: client.subject, rules)
        try await downloads(of: client, open)
        if client.subject.scopes == nil { try await fieldDownloads(of: client, rules["photo"]) }
        try await namings(by: client, open)
    }

    /// Expects that each exit was open and closed to several callers.
    func requireFilesOfAllKinds() {
        for exit in ["file", "file of a field", "naming a file"] {
            for isOpen in [true, false] {
                let count = fileCases[FileCase(exit: exit, isOpen: isOpen)] ?? 0
                #expect(count > 20, "\(exit), \(isOpen): \(count)")
            }
        }
    }

    /// The files in fields that a caller sees.
    private func openFiles(to caller: OracleCaller, _ rules: [String: OracleFieldRule]) -> Set<String> {
        // Other types have no rules.
        var others = oracle
        others.rules = [:]
        var open: Set<String> = []
        for card in world.cards {
            for (field, file) in card.files where oracle.shows(card, of: "card", rules[field], to: caller) {
                open.insert(file)
            }
        }
        for leaf in world.leaves {
            for file in leaf.files.values where others.shows(leaf, of: "leaf", nil, to: caller) { open.insert(file) }
        }
        return open
    }

    private mutating func note(_ exit: String, _ isOpen: Bool) {
        fileCases[FileCase(exit: exit, isOpen: isOpen), default: 0] += 1
        countCases(1)
    }

    /// Whether a file that records open to a caller, or do not, is open to it.
    private func opens(
        _ file: OracleFile,
        _ open: Set<String>,
        toNaming isNaming: Bool,
        by caller: OracleCaller
    ) -> Bool {
        if caller.isMaster || open.contains(file.name) { return true }
        // A file without an uploader is named by everyone. A key with scopes reads through records alone.
        guard let uploader = file.uploader else { return isNaming }
        return uploader == caller.user && (isNaming || caller.scopes == nil)
    }

    /// Downloads some files. One that is closed looks like one that does not exist.
    private mutating func downloads(of client: OracleClient, _ open: Set<String>) async throws {
        let files = world.files.shuffled(using: &chance).prefix(seededCases(6))
        let names = [OracleWorld.fileName(world.files.count)] + files.map(\.name)
        let responses = try await get(names.map { "/files/\($0)" }, client)
        let missing = responses[0]
        #expect(missing.status == 404)
        for (file, response) in zip(files, responses.dropFirst()) {
            let isOpen = opens(file, open, toNaming: false, by: client.subject)
            #expect(
                isOpen ? response.status == 200 && response.body == "a file" : Self.isSame(response, missing),
                "seed \(seed): \(file) by \(client.subject): \(response.status) \(response.body)"
            )
            note("file", isOpen)
        }
    }

    /// Downloads the photos of some public cards by their fields. One of a card that may not be read looks like one of a card that
    /// does not exist.
    private mutating func fieldDownloads(of client: OracleClient, _ rule: OracleFieldRule?) async throws {
        let cards = world.cards.filter { $0.database == "_public" && $0.files["photo"] != nil }
            .shuffled(using: &chance).prefix(seededCases(3))
        let responses = try await get((["never"] + cards.map(\.id)).map { "/files/records/card/\($0)/photo" }, client)
        let missing = responses[0]
        #expect(missing.status == 404)
        for (card, response) in zip(cards, responses.dropFirst()) {
            let isReadable = oracle.decide(client.subject, .read, card).answer == .yes
            let isOpen = oracle.shows(card, of: "card", rule, to: client.subject)
            let isExpected =
                if isReadable {
                    response.status == (isOpen ? 200 : 404)
                } else {
                    Self.isSame(response, missing)
                }
            #expect(isExpected, "seed \(seed): \(card) by \(client.subject): \(response.status) \(response.body)")
            note("file of a field", isOpen)
        }
    }

    /// Puts each file into a record, in a request of which nothing is saved, since it names a file that does not exist too.
    private mutating func namings(by client: OracleClient, _ open: Set<String>) async throws {
        let names = world.files.map(\.name) + [OracleWorld.fileName(world.files.count)]
        let drafts = names.enumerated().map { number, name in
            #"{"_id":"card/file\#(number)","photo":{"$type":"asset","$name":"\#(name)"}}"#
        }
        let response = try await call(
            client,
            "record:save",
            #"{"atomic":true,"records":[\#(drafts.joined(separator: ","))]}"#
        )
        let code = response["error"]["code"].integer
        if client.subject.scopes?.mayWrite == false || client.subject.user == nil && !client.isOperator {
            #expect(code == (client.subject.scopes == nil ? 101 : 102), "\(client.subject): \(response)")
            return
        }
        #expect(code == 115, "seed \(seed): \(client.subject): \(response["error"]["message"])")
        let refusals = response["error"]["data"]["info"]
        let missing = refusals["card/file\(world.files.count)"]
        #expect(missing["code"].integer == 108)
        for (number, file) in world.files.enumerated() {
            let refusal = refusals["card/file\(number)"]
            let isOpen = opens(file, open, toNaming: true, by: client.subject)
            #expect(
                refusal == (isOpen ? .null : missing),
                "seed \(seed): naming \(file) by \(client.subject): \(refusal)"
            )
            note("naming a file", isOpen)
        }
    }

    /// The responses to requests on one connection.
    private func get(_ paths: [String], _ client: OracleClient) async throws -> [RawResponse] {
        var headers: [(String, String)] = []
        if let key = client.key { headers.append(("X-Skygear-API-Key", key)) }
        if let token = client.token { headers.append(("X-Skygear-Access-Token", token)) }
        return try await withConnection(port: world.service.port) { connection in
            var responses: [RawResponse] = []
            for path in paths {
                try await connection.get(path, headers: headers)
                responses.append(try await connection.response())
            }
            return responses
        }
    }

    /// Whether two responses have the same bytes, apart from the time and the name of the request.
    private static func isSame(_ a: RawResponse, _ b: RawResponse) -> Bool {
        func plain(_ response: RawResponse) -> [String] {
            response.fields.filter { !["date", "x-skygear-request-id"].contains($0.0) }.map { "\($0.0): \($0.1)" }
        }
        return a.status == b.status && a.body == b.body && plain(a) == plain(b)
    }
}

extension OracleClient {
    /// Whether it is the master key, or a key that passes rules as it does.
    fileprivate var isOperator: Bool { subject.isMaster || subject.scopes?.isServer == true }
}

extension OracleWorld {
    /// The name of a file; different for each number.
    static func fileName(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return "0f5c9d3e-7135-4912-a6c9-" + String(repeating: "0", count: 12 - digits.count) + digits + "-a.png"
    }

    static func files(of users: [String], _ chance: inout SeededGenerator) -> [OracleFile] {
        (0..<240).map { number in
            OracleFile(
                name: fileName(number),
                uploader: number.isMultiple(of: 5) ? nil : users.randomElement(using: &chance)
            )
        }
    }

    /// Puts a file into a field of this number of eight records.
    static func put(
        _ files: [OracleFile],
        into records: inout [OracleRecord],
        as field: String,
        of eight: Int,
        _ chance: inout SeededGenerator
    ) {
        for place in records.indices where Int.random(in: 0..<8, using: &chance) < eight {
            records[place].files[field] = files.randomElement(using: &chance)?.name
        }
    }

    /// Makes the rows of the files, and puts them into the records.
    func insertFiles() async throws {
        let rows = files.map { file in
            "('\(file.name)', 'a.png', 'image/png', 6, 'stored', 'test', now(), \(Self.text(file.uploader)))"
        }
        let fields = [("card", "photo", cards), ("card", "scan", cards), ("leaf", "cover", leaves)]
        let updates = fields.map { type, field, records in
            let values = records.enumerated().compactMap { number, record in
                record.files[field].map { "(\(number), '\($0)')" }
            }
            return """
                UPDATE app.\(type) AS held SET \(field) = one.name
                FROM (VALUES \(values.joined(separator: ", "))) AS one (n, name) WHERE one.n = held.n;
                """
        }
        _ = try await service.database.psql(
            """
            INSERT INTO app_internal._asset (name, filename, content_type, size, state, storage, stored_at, owner)
            VALUES \(rows.joined(separator: ",\n"));
            \(updates.joined(separator: "\n"))
            """
        )
    }

    private static func text(_ value: String?) -> String { value.map { "'\($0)'" } ?? "NULL" }

    /// The callers of some users with keys that are limited to one type, and a key for a server.
    static func scopedClients(of service: TestService, _ callers: [OracleClient]) async throws -> [OracleClient] {
        let users = callers.filter { $0.subject.user != nil }
        let keys: [(name: String, kind: String, scope: String, scopes: OracleScopes, client: OracleClient?)] = [
            ("reader", "client", "type:card:read", OracleScopes(types: ["card"], mayWrite: false), users[3]),
            ("writer", "client", "type:card", OracleScopes(types: ["card"]), users[8]),
            ("leaves", "client", "type:leaf", OracleScopes(types: ["leaf"]), users[9]),
            ("machine", "server", "type:card", OracleScopes(types: ["card"], isServer: true), nil),
        ]
        var clients: [OracleClient] = []
        for (name, kind, scope, scopes, user) in keys {
            let made = try await service.call(
                "key:create",
                #"{"name":"\#(name)","kind":"\#(kind)","scopes":["\#(scope)"]}"#,
                key: TestService.masterKey
            )
            guard let key = made["result"]["key"].string else { throw UnexpectedResponse(response: "\(made)") }
            var client = user ?? OracleClient(subject: OracleCaller())
            client.key = key
            client.subject.keyName = name
            client.subject.scopes = scopes
            clients.append(client)
        }
        return clients
    }
}
