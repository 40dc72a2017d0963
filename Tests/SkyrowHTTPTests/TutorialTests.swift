import Foundation
import SkyrowTestSupport
import Testing

/// Documentation/Tutorial.md is followed from top to bottom, and everything has to be as it says.
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
            let response = try await post(path, headers, body)
            return try response.status == 200
                ? placeholders.differences(response.body, from: shown)
                : ["status \(response.status): \(response.body)"]
        case .psql(let statement):
            statements += 1
            let printed = lines(try await service.database.psql(asShownToPeople + statement + ";\n"))
            return printed == lines(shown) ? [] : ["psql prints\n" + printed.joined(separator: "\n")]
        }
    }

    private func post(_ path: String, _ headers: [String], _ body: String) async throws -> RawResponse {
        let fields = try headers.map { header in
            let match = try #require(header.wholeMatch(of: /([A-Za-z-]+): (.+)/))
            return (String(match.1), String(match.2))
        }
        return try await withConnection(port: service.port) { connection in
            try await connection.post(path, body, headers: fields)
            return try await connection.response()
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
