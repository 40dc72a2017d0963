import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// Registrations in the database, which every process reads.
@Suite(.timeLimit(.minutes(60))) struct FunctionRegistrationTests {
    private static let count = "SELECT count(*) FROM _function_server"
    private static let stamp = "SELECT xmin FROM _function_server WHERE name = 'main'"

    private func service(_ fixture: ServiceFixture, _ servers: String...) -> ActionService {
        fixture.configured { $0.functions = FunctionConfiguration(runner: ScriptedFunctions(), servers: servers) }
    }

    @Test func aRegistrationIsKeptForOtherProcessesAndAnEqualOneWritesNothing() async throws {
        try await withService { fixture in
            let service = service(fixture, "main")
            let hello = registration(functions: [function("hello", need: .user)]) {
                $0.hooks = [HookDescription("check", .beforeSave, on: nil)]
            }
            try await service.register(hello, of: "main")
            #expect(service.functions.registry["hello"]?.description.need == .user)
            let stamp = try await fixture.psql(Self.stamp)
            try await service.register(hello, of: "main")
            #expect(try await fixture.psql(Self.stamp) == stamp)
            try await service.register(registration(functions: [function("other")]), of: "main")
            #expect(try await fixture.psql(Self.stamp) != stamp)
            #expect(service.functions.registry["hello"] == nil)

            let started = self.service(fixture, "main", "mail")
            #expect(started.functions.registry["other"] == nil)
            try await started.prepareFunctions()
            #expect(started.functions.registry["other"]?.server == "main")
            // The settings name it no more.
            let without = self.service(fixture, "mail")
            try await without.prepareFunctions()
            #expect(without.functions.registry["other"] == nil)
        }
    }

    @Test func aChangeIsHeardByARunningService() async throws {
        try await withService { fixture in
            let service = service(fixture, "main")
            try await withRunning {
                try await service.run()
            } while: {
                let other = self.service(fixture, "main")
                try await other.register(registration(functions: [function("hello")]), of: "main")
                try await waiting(until: "the registration is heard") { service.functions.registry["hello"] != nil }
                try await fixture.psql("DELETE FROM _function_server")
                try await waiting(until: "the deletion is heard") { service.functions.registry["hello"] == nil }
            }
        }
    }

    /// F-7
    @Test func aRefusedRegistrationChangesNothing() async throws {
        try await withService { fixture in
            let service = service(fixture, "main", "mail")
            try await service.register(registration(functions: [function("hello")]), of: "main")
            try await service.register(registration(functions: [function("send")]), of: "mail")
            let rows: [(String, FunctionRegistration, String)] = [
                (
                    "mail", registration(functions: [function("hello")]),
                    "main and mail both register the function hello"
                ),
                ("none", registration(), "no function server none"),
                ("main", registration { $0.providers = ["custom-token"] }, "custom-token"),
                ("main", registration { $0.events = Set((0...2000).map { "e\($0)" }) }, "registers too much"),
            ]
            for (server, added, words) in rows {
                let error = try await expectError(.invalidArgument) { try await service.register(added, of: server) }
                #expect(error?.message.contains(words) == true, "\(words)")
            }
            #expect(service.functions.registry["send"]?.server == "mail")
            #expect(try await fixture.psql(Self.count) == "2")
            // The server that stands earlier takes the name.
            try await service.register(registration(functions: [function("hello"), function("send")]), of: "main")
            #expect(service.functions.registry["send"]?.server == "main")
        }
    }

    @Test func aServiceWithoutFunctionServersSendsNoStatementForThem() async throws {
        try await withService { fixture in
            let service = fixture.configured { _ in }
            // The table is not read, so that it may be missing.
            try await fixture.psql("DROP TABLE _function_server")
            try await service.prepareFunctions()
            #expect(service.functions.registry.functions.isEmpty)
            let with = self.service(fixture, "main")
            await #expect(throws: SkyrowError.self) { try await with.prepareFunctions() }
        }
    }

    @Test func serversHearOfChangesOfTheSchema() async throws {
        try await withService { fixture in
            let runner = ScriptedFunctions()
            let service = fixture.configured {
                $0.functions = FunctionConfiguration(runner: runner, servers: ["main", "mail"])
            }
            let main = registration { $0.events = ["schema-changed"] }
            service.functions.replace(
                FunctionRegistry(servers: [("main", main), ("mail", registration())], database: [])
            )
            try await withRunning {
                await service.sendFunctionEvents()
            } while: {
                let made = RecordType(name: type("memo"), fields: [field("title"): .string])
                _ = try await service.perform(Actions.schemaCreate, [made], Call(by: ServiceFixture.masterCaller))
                try await waiting(until: "the event is sent") { !runner.calls.isEmpty }
            }
            let call = try #require(runner.calls.first)
            guard case .event("schema-changed", let parameter?) = call.content else {
                Issue.record("\(call.content)")
                return
            }
            #expect(call.server == "main" && runner.calls.count == 1)
            #expect(parameter == json(#"{"memo":{"fields":[{"name":"title","type":"string"}]}}"#))
        }
    }
}
