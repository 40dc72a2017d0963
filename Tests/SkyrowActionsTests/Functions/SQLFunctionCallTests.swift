import SkyrowJSON
import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// Functions of the database as requests call them: who may, and which records each caller gets.
@Suite(.timeLimit(.minutes(60))) struct SQLFunctionCallTests {
    private static let titles = ["open", "anns", "bobs"]

    /// A service with notes: an open one, and one of each of ann and bob that only its owner reads.
    private struct Notes {
        let fixture: ServiceFixture
        let ann: Credentials
        let bob: Credentials

        init(_ fixture: ServiceFixture) async throws {
            self.fixture = fixture
            let service = fixture.service
            func signUp(_ name: String) async throws -> AuthResult {
                try await service.signUp(SignUpRequest(authData: ["username": name], password: "secret"))
            }
            let (first, second) = (try await signUp("ann"), try await signUp("bob"))
            let roles = RoleAssignment(roles: ["editor"], users: [first.userID])
            try await service.run(Actions.roleAssign, roles, by: ServiceFixture.masterCaller)
            (ann, bob) = (.token(first.accessToken), .token(second.accessToken))
            for (place, owner) in [ann, ann, bob].enumerated() {
                var note = draft(
                    "note/\(place)",
                    ["title": .string(SQLFunctionCallTests.titles[place]), "stars": .integer(Int64(place))]
                )
                if place > 0 { note.access = AccessList([]) }
                let caller = try await service.authenticate(owner, for: .user)
                let summaries = try await service.save(SaveRequest(note), by: caller).summaries
                #expect(summaries == ["saved"])
            }
            try await fixture.psql(
                """
                CREATE FUNCTION notes(minimum bigint DEFAULT 0) RETURNS SETOF note LANGUAGE sql STABLE AS
                    'SELECT * FROM app.note WHERE stars >= minimum ORDER BY stars';
                """
            )
        }

        func expose(_ need: FunctionExposure.Need, roles: [RoleName] = []) async throws -> FunctionName {
            try await fixture.service.run(
                Actions.functionExpose,
                FunctionExposure(function: "notes", need: need, roles: roles),
                by: ServiceFixture.masterCaller
            )
        }

        /// Calls an action as a request does, and returns the text of its result.
        func call(_ parameters: String, by credentials: Credentials) async throws -> String {
            let runner = ActionRunner(service: fixture.service)
            let entry = try #require(ActionTable[Actions.functionCall.name])
            let sender = Sender(credentials: credentials, client: .none)
            let document = try JSONDocument(Array(parameters.utf8))
            let call = document.withRoot { json in
                runner.prepare(entry, from: sender, parameters: json, rules: .rpc, in: .rpc)
            }
            let id = try #require(RequestID(given: "r1"))
            return try await runner.run(call, id: id).result.get().text
        }

        /// The titles of the notes that a call returns.
        func titles(_ parameters: String, by credentials: Credentials) async throws -> [String] {
            let text = try await call(parameters, by: credentials)
            return SQLFunctionCallTests.titles.filter { text.contains("\"\($0)\"") }
        }
    }

    /// What the function needs, and what ann, who is an editor, bob, a client without a user, and the master key get: titles
    /// or the code of the refusal.
    private static let needs:
        [(need: FunctionExposure.Need, roles: [RoleName], ann: Found, bob: Found, client: Found, master: Found)] = {
            let (anns, bobs) = (Found.titles(["open", "anns"]), Found.titles(["open", "bobs"]))
            let all = Found.titles(titles)
            let (unknown, denied) = (Found.error(.notAuthenticated), Found.error(.permissionDenied))
            return [
                (.nothing, [], anns, bobs, .titles(["open"]), all), (.key, [], anns, bobs, .titles(["open"]), all),
                (.user, [], anns, bobs, unknown, unknown), (.roles, ["editor"], anns, denied, unknown, all),
                (.administrator, [], denied, denied, unknown, all),  // Without a key, as for the service's own actions.
                (.master, [], unknown, unknown, denied, all),
            ]
        }()

    private enum Found: Hashable {
        case titles([String])
        case error(ErrorCode)
    }

    private func found(_ parameters: String, by credentials: Credentials, _ notes: Notes) async throws -> Found {
        do {
            return .titles(try await notes.titles(parameters, by: credentials))
        } catch let error as SkyrowError {
            return .error(error.code)
        }
    }

    @Test func whoMayCallGetsTheRecordsThatTheyMayRead() async throws {
        try await withService { fixture in
            let notes = try await Notes(fixture)
            let call = #"{"name":"notes"}"#
            for row in Self.needs {
                let name = try await notes.expose(row.need, roles: row.roles)
                let rows = [
                    ("ann", notes.ann, row.ann), ("bob", notes.bob, row.bob),
                    ("client", ServiceFixture.key, row.client), ("master", ServiceFixture.master, row.master),
                ]
                for (caller, credentials, expected) in rows {
                    let found = try await found(call, by: credentials, notes)
                    #expect(found == expected, "\(row.need) \(caller)")
                }
                try await fixture.service.run(Actions.functionHide, name, by: ServiceFixture.masterCaller)
                for (caller, credentials, _) in rows {
                    let found = try await found(call, by: credentials, notes)
                    #expect(found == .error(.resourceNotFound), "hidden \(row.need) \(caller)")
                }
            }
        }
    }

    private static let byStars = #""sort":[[{"$type":"keypath","$val":"stars"},"asc"]]"#

    /// What a call selects beside its name, and the titles that ann gets, or the code of the refusal.
    private static let selections: [(String, Found)] = [
        (#""args":{"minimum":1}"#, .titles(["anns"])), (#""args":[1],"limit":null"#, .titles(["anns"])),
        (#""limit":1"#, .titles(["open"])), (#""offset":1"#, .titles(["anns"])),
        (#""predicate":["eq",{"$type":"keypath","$val":"stars"},0]"#, .titles(["open"])),
        ("\(byStars),\"last\":true,\"limit\":1", .titles(["anns"])), (#""select":["stars"]"#, .titles([])),
        (#""desired_keys":["title"]"#, .titles(["open", "anns"])), (#""omit":["title"]"#, .titles([])),
        (#""database_id":"_private""#, .titles([])), (#""include_form":"table""#, .titles(["open", "anns"])),
        (#""args":{"minimum":9}"#, .titles([])), (#""args":{"minimum":9},"required":true"#, .error(.resourceNotFound)),
        ("\(byStars),\"before\":\"x\"", .error(.invalidArgument)), (#""select":"title""#, .error(.badRequest)),
        (#""omit":1"#, .error(.badRequest)), (#""last":1"#, .error(.badRequest)),
        (#""required":"yes""#, .error(.badRequest)), (#""include_form":1"#, .error(.badRequest)),
        (#""include_form":"list""#, .error(.invalidArgument)), (#""database_id":1"#, .error(.badRequest)),
        // What is not selected by, and what is misspelled.
        (#""record_type":"user""#, .error(.invalidArgument)), (#""explain":true"#, .error(.invalidArgument)),
        (#""timeout_ms":1"#, .error(.invalidArgument)), (#""limits":1"#, .error(.invalidArgument)),
    ]

    @Test func aCallSelectsAsAQueryDoes() async throws {
        try await withService { fixture in
            let notes = try await Notes(fixture)
            _ = try await notes.expose(.user)
            for (members, expected) in Self.selections {
                let found = try await found(#"{"name":"notes",\#(members)}"#, by: notes.ann, notes)
                #expect(found == expected, "\(members)")
            }
        }
    }
}
