import Foundation
import NIOCore
import SkyrowActions
import SkyrowTestSupport
import Testing

/// Documentation/Tutorial.md and the commands of Documentation/Files.md are followed from top to bottom, and everything has to be
/// as they say.
@Suite struct TutorialTests {
    @Test func everyCommandIsAnsweredAsTheTutorialShows() async throws {
        let tutorial = try Tutorial(text: documentation("Tutorial.md"))
        try await withService { service in
            var reader = Reader(service: service)
            for step in tutorial.steps {
                let differences = try await reader.follow(step)
                #expect(differences.isEmpty, "Tutorial.md:\(step.line)")
            }
            #expect(reader.requests >= 12)
            #expect(reader.statements >= 2)
        }
    }

    @Test func everyCommandAboutFilesIsAnsweredAsThePageShows() async throws {
        let page = try Tutorial(text: documentation("Files.md"))
        let files = FileConfiguration(storage: try TestFileStorage(), urlPrefix: "http://127.0.0.1:3000/files")
        try await withService(files: files) { service in
            var reader = Reader(service: service)
            for step in page.steps {
                let differences = try await reader.follow(step)
                #expect(differences.isEmpty, "Files.md:\(step.line)")
            }
            #expect(reader.requests >= 8)
            #expect(reader.statements >= 1)
        }
    }

    @Test(arguments: [
        (#"<ann>"#, [String]()),
        (#"<ann"#, ["$.result: \"u1\" instead of \"<ann\""]),
    ])
    func aWrongAnswerIsFound(_ shown: String, _ differences: [String]) throws {
        var placeholders = ProtocolPlaceholders()
        #expect(try placeholders.differences(#"{"result":"u1"}"#, from: #"{"result": "\#(shown)"}"#) == differences)
    }

    @Test(arguments: [
        (#"{"_id": "a", "…": "…", "title": "x"}"#, true),
        (#"{"…": "…", "title": "x"}"#, true),
        (#"{"_id": "b", "…": "…", "title": "x"}"#, false),
        (#"{"_access": null, "…": "…", "title": "x"}"#, false),
        (#"{"_id": "a", "…": "…"}"#, false),
        (#"{"_id": "a", "title": "x"}"#, false),
    ])
    func theEllipsisStandsForMetadataAlone(_ shown: String, _ same: Bool) throws {
        var placeholders = ProtocolPlaceholders()
        let response = #"{"_id":"a","_revision":7,"title":"x"}"#
        #expect(try placeholders.differences(response, from: shown).isEmpty == same)
    }

    @Test func aNumberIsPutIntoACommandAsItIs() throws {
        var placeholders = ProtocolPlaceholders()
        #expect(try placeholders.differences(#"{"n":12}"#, from: #"{"n": "<seen>"}"#).isEmpty)
        #expect(placeholders.fill(#"N='<seen>' {"n": "<seen>"}"#) == #"N='12' {"n": 12}"#)
    }

    @Test func theCommandsOfFilesAreRead() throws {
        let host = "http://127.0.0.1:3000"
        let upload = try Tutorial.command(["curl", host + "/files?filename=a", "-H", "x: y", "--data-binary", "@a"])
        #expect(upload == .upload(path: "/files?filename=a", headers: ["x: y"], file: "a"))
        let format = #"%{http_code} %{content_type}\n"#
        let download = try Tutorial.command(["curl", "-s", "-o", "b", "-w", format, host + "/files/a"])
        #expect(download == .download(path: "/files/a", headers: []))
        for words in [
            ["curl", host + "/files/a"], ["curl", "-w", "%{speed}", host + "/files/a"],
            ["curl", "--data-binary", "a", host + "/files"],
            ["curl", "-d", "{}", "--data-binary", "@a", host + "/files"],
        ] {
            #expect(throws: Tutorial.Fault.self) { try Tutorial.command(words) }
        }
    }

    @Test(arguments: [
        ("curl -d 'a \"b\" $c'  x", [["curl", "-d", "a \"b\" $c", "x"]]),
        ("a \"k: $KEY\" '{'\"$KEY\"'}'", [["a", "k: secret", "{secret}"]]),
        ("a \\\n  b\nc", [["a", "b"], ["c"]]),
        ("A='x y'\nB=''", [["A=x y"], ["B="]]),
    ])
    func aScriptIsReadAsAShellReadsIt(_ script: String, _ commands: [[String]]) throws {
        #expect(try ShellScript(script, variables: ["KEY": "secret"]).commands == commands)
    }

    @Test(arguments: [
        ("a 'b", ShellScript.Fault.unclosed("'")),
        ("a \"b", .unclosed("\"")),
        ("a $B", .unset("B")),
        ("a \"$(b)\"", .unsupported("$")),
        ("a | b", .unsupported("|")),
        ("A=<ann>", .unsupported("<")),
    ])
    func whatTheReaderOfScriptsDoesNotKnowIsRefused(_ script: String, _ fault: ShellScript.Fault) {
        #expect(throws: fault) { try ShellScript(script) }
    }
}

/// Somebody who pastes what the tutorial says, and compares.
private struct Reader {
    let service: TestService
    var placeholders = ProtocolPlaceholders()
    var variables = ["SKYROW_API_KEY": TestService.apiKey, "SKYROW_MASTER_KEY": TestService.masterKey]
    var requests = 0
    var statements = 0

    init(service: TestService) {
        self.service = service
    }

    mutating func follow(_ step: Tutorial.Step) async throws -> [String] {
        let commands = try ShellScript(placeholders.fill(step.shell), variables: variables).commands
        guard let shown = step.shown else {
            for command in commands {
                guard case .set(let name, let value) = try Tutorial.command(command) else {
                    return ["\(command) has no output in the tutorial"]
                }
                if value.contains("<") { return ["\(value) was not in an output before"] }
                variables[name] = value
            }
            return []
        }
        guard commands.count == 1 else { throw Tutorial.Fault.notOneCommand(commands) }
        switch try Tutorial.command(commands[0]) {
        case .set(let name, _):
            return ["setting \(name) says nothing"]
        case .post(let path, let headers, let body):
            requests += 1
            let response = try await post(path, headers, ByteBuffer(string: body))
            return try response.status == 200
                ? placeholders.differences(response.body, from: shown)
                : ["status \(response.status): \(response.body)"]
        case .upload(let path, let headers, let file):
            requests += 1
            guard let bytes = Self.files[file] else { return ["there is no \(file)"] }
            let response = try await post(path, headers, ByteBuffer(bytes: bytes))
            return try response.status == 201
                ? placeholders.differences(response.body, from: shown)
                : ["status \(response.status): \(response.body)"]
        case .download(let path, let headers):
            requests += 1
            let fields = try Self.fields(headers)
            let response = try await withConnection(port: service.port) { connection in
                try await connection.get(path, headers: fields)
                return try await connection.response()
            }
            let printed = "\(response.status) \(response["content-type"] ?? "")"
            return printed == shown ? [] : ["curl prints \(printed)"]
        case .psql(let statement):
            statements += 1
            let printed = lines(try await service.database.psql(asShownToPeople + statement + ";\n"))
            return printed == lines(shown) ? [] : ["psql prints\n" + printed.joined(separator: "\n")]
        }
    }

    /// The files beside the reader: the first bytes of a PNG image, and some more.
    private static let files = [
        "cat.png": [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + [UInt8](repeating: 0xFE, count: 600)
    ]

    private func post(_ path: String, _ headers: [String], _ body: ByteBuffer) async throws -> RawResponse {
        let length = ("Content-Length", "\(body.readableBytes)")
        let fields = try Self.fields(headers) + [length]
        return try await withConnection(port: service.port) { connection in
            try await connection.get(path, method: "POST", headers: fields)
            try await connection.send(body)
            return try await connection.response()
        }
    }

    private static func fields(_ headers: [String]) throws -> [(String, String)] {
        try headers.map { header in
            let match = try #require(header.wholeMatch(of: /([A-Za-z-]+): (.+)/))
            return (String(match.1), String(match.2))
        }
    }

    /// psql fills some lines with spaces to the right, and the margin of the first is cut off.
    private func lines(_ text: String) -> [String] {
        text.trimmingCharacters(in: .whitespacesAndNewlines)
            .components(separatedBy: "\n")
            .map { $0.replacing(/[ ]+$/, with: "") }
    }
}

/// Undoes the options with which the test kit starts psql, and finds tables as `skyrow psql` does.
private let asShownToPeople = """
    SET search_path = app, app_internal, public;
    \\pset tuples_only off
    \\pset format aligned
    \\set QUIET off

    """
