import NIOCore
import SkyrowActions
import SkyrowConcurrency
import SkyrowHTTP
import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

/// F-16: a service that stops while hooks run.
@Suite(.timeLimit(.minutes(60))) struct HookShutdownTests {
    /// Never answers, until its request is cancelled.
    private final class SilentFunctions: FunctionRunner {
        let began = Gate<Void>("the hook to begin")
        let ended = Gate<Void>("the hook to end")

        var states: [(server: String, state: FunctionServerState)] { [("main", .ready)] }

        func call(_ call: FunctionCall, deadline: ContinuousClock.Instant?) async throws(SkyrowError) -> FunctionAnswer
        {
            began.open()
            await Deferred<Void>().value(ifCancelled: ())
            ended.open()
            throw SkyrowError(.pluginUnavailable, "The service shuts down.")
        }
    }

    /// When the service stops, what is in the database.
    @Test(arguments: [(HookTrigger.beforeSave, "0"), (.afterSave, "1")])
    func aSaveIsThereFromItsCommitOn(_ trigger: HookTrigger, _ stored: String) async throws {
        let runner = SilentFunctions()
        var registration = FunctionRegistration(dialect: .skyrow)
        registration.hooks = [HookDescription("silent", trigger, on: try RecordTypeName("note"))]
        let limits = HTTPLimits(shutdown: .milliseconds(100))
        try await withService(limits: limits, functions: (runner, registration)) { service in
            let made = try await service.call(
                "schema:create",
                #"{"record_types":{"note":{"fields":[{"name":"title","type":"string"}]}}}"#,
                key: TestService.masterKey
            )
            #expect(made["error"] == .null)
            try await withConnection(port: service.port) { connection in
                try await connection.post(
                    "/rpc",
                    #"{"jsonrpc":"2.0","id":1,"method":"record:save","params":{"records":[{"_id":"note/1","title":"x"}]}}"#,
                    headers: [("X-Skygear-API-Key", TestService.masterKey)]
                )
                try await runner.began.value()
                await service.server.shutDown()
                try await runner.ended.value()
            }
            let count = try await service.database.psql("SELECT count(*) FROM app.note WHERE title = 'x'")
            #expect(count == stored)
        }
    }
}
