import NIOCore
import NIOPosix
import SkyrowHTTP
import SkyrowTestSupport
import Synchronization
import Testing

/// The server's promises about time, kept by the whole service.
@Suite struct WorkingServiceTests {
    @Test func aShutdownUnderLoadLosesNoAcceptedSave() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            let acknowledged = AcknowledgedIDs()
            try await withThrowingTaskGroup(of: Void.self) { clients in
                for client in 0..<8 {
                    clients.addTask {
                        do {
                            try await save(as: ann.token, port: service.port, client: client, into: acknowledged)
                        } catch is NIOConnectionError {
                            // One that comes after the shutdown finds nobody there.
                        }
                    }
                }
                try await acknowledged.hundred.value()
                await service.server.shutDown()
                try await clients.waitForAll()
            }
            let stored = try await service.database.psql("SELECT _id FROM app.note")
            let ids = Set(stored.split(separator: "\n").map(String.init))
            #expect(ids == acknowledged.all)
        }
    }

    @Test func workThatTakesTooLongIsCancelledInTheDatabase() async throws {
        try await withService(limits: HTTPLimits(response: .milliseconds(300), cancellation: .hours(1))) { service in
            try await service.database.psql(
                """
                CREATE FUNCTION app.wait() RETURNS trigger LANGUAGE plpgsql AS
                    $$BEGIN PERFORM pg_sleep(1000); RETURN NEW; END$$;
                CREATE TRIGGER wait BEFORE INSERT ON app_internal._user FOR EACH ROW EXECUTE FUNCTION app.wait();
                """
            )
            let response = try await service.call("auth:signup", "{}")
            // A write that had been sent may say that its fate is unknown.
            #expect([122, 136].contains(response["error"]["code"].integer), "\(response)")
            // Nothing goes on in the database.
            try await waiting(until: "nothing runs in the database") {
                let running = try await service.database.psql(
                    """
                    SELECT count(*) FROM pg_stat_activity
                    WHERE state = 'active' AND datname = current_database() AND pid <> pg_backend_pid()
                    """
                )
                return running == "0"
            }
        }
    }
}

/// Saves one new record after another on one connection, until the server closes it.
private func save(as token: String, port: Int, client: Int, into acknowledged: AcknowledgedIDs) async throws {
    try await withConnection(port: port) { connection in
        for number in 0... {
            let id = "\(client)-\(number)"
            let response: RawResponse
            do {
                try await connection.post(
                    "/record/save",
                    #"{"records":[{"_id":"note/\#(id)"}]}"#,
                    headers: [("X-Skygear-API-Key", TestService.apiKey), ("X-Skygear-Access-Token", token)]
                )
                response = try await connection.response()
            } catch {
                // The server closed the idle connection while the request was on its way, and has not seen it.
                return
            }
            #expect(response.status == 200)
            let body = try JSONValue(response.body)
            #expect(body["result"][0]["_type"].string == "record")
            acknowledged.insert(id)
            if response["connection"] == "close" { return }
        }
    }
}

/// What the service said it has saved.
private final class AcknowledgedIDs: Sendable {
    /// Open once there are a hundred.
    let hundred = Gate<Void>("a hundred acknowledged saves")
    private let ids = Mutex<Set<String>>([])

    var all: Set<String> { ids.withLock { $0 } }

    func insert(_ id: String) {
        let count = ids.withLock { ids in
            ids.insert(id)
            return ids.count
        }
        if count == 100 { hundred.open() }
    }
}
