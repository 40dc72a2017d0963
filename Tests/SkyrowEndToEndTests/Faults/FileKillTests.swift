import Foundation
import FoundationNetworking
import SkyrowTestSupport
import Synchronization
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// A service that is killed while files are uploaded and deleted.
@Suite(.timeLimit(.minutes(60))) struct FileKillTests {
    private static let environment = [
        "SKYROW_API_KEY": "killed-api-key", "SKYROW_MASTER_KEY": "killed-master-key-of-the-test",
    ]
    private static let clients = 4

    /// After each kill every acknowledged file is there with its bytes, and what uploads and deletions left behind is swept.
    @Test func aKillLosesNoAcknowledgedFile() async throws {
        let folder = try TemporaryDirectory()
        let files = folder.path + "/files"
        try await withTemporaryDatabaseAndPsql { database in
            var random = SeededGenerator.forTest()
            let ledger = Ledger()
            var token = ""
            let kills = seededCases(5)
            for round in 0...kills {
                let service = try await RunningService.start(
                    in: folder.path + "/data",
                    arguments: ["--development", "--database-url", database.url, "--file-directory", files],
                    environment: Self.environment
                )
                if round == 0 { token = try await Self.signUp(at: service) }
                try await Self.inspect(ledger, service, token, database, files, "round \(round)")
                if round == kills {
                    #expect(await service.terminate() == .exited(0))
                    break
                }

                let meter = Meter(
                    of: service.process,
                    bytes: Int.random(in: 1...2_000_000, using: &random),
                    waitsForBody: Bool.random(using: &random)
                )
                let port = UInt16(try #require(service.address.port))
                let clients = (0..<Self.clients).map { _ in
                    Client(port, token, meter, ledger, SeededGenerator(seed: random.next()))
                }
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for client in clients {
                        group.addTask {
                            do {
                                try await onThread { try client.run() }
                            } catch {
                                // The others would go on.
                                service.process.send(signal: SIGKILL)
                                throw error
                            }
                        }
                    }
                    try await group.waitForAll()
                }
                #expect(await service.process.ended() == .killed(signal: SIGKILL))
                try await Self.age(database, files)
            }
            let clean = try await Self.verify(database, files, "--checksums")
            #expect(clean.status == .exited(0), "\(clean)")
            #expect(ledger.acknowledged > kills)
        }
    }

    private static func signUp(at service: RunningService) async throws -> String {
        let account = #"{"auth_data":{"username":"ann"},"password":"correct horse"}"#
        let result = try await service.call("auth:signup", account)
        let object = try JSONSerialization.jsonObject(with: Data(result.utf8)) as? [String: Any]
        return try #require(object?["access_token"] as? String)
    }

    /// Makes what a killed service has left behind so old that the next one sweeps it.
    private static func age(_ database: TemporaryDatabase, _ files: String) async throws {
        // A statement that had been sent is carried out all the same.
        try await waiting(until: "the sessions of the service have ended") {
            let sessions = "datname = current_database() AND application_name LIKE 'skyrow%'"
            return try await database.psql("SELECT count(*) FROM pg_stat_activity WHERE \(sessions)") == "0"
        }
        _ = try await database.psql(
            "UPDATE app_internal._asset SET expires_at = now() - interval '1 s' WHERE state = 'expected'"
        )
        let incoming = files + "/app/incoming"
        for part in contentsOfDirectory(incoming) ?? [] {
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: -2 * 86_400)],
                ofItemAtPath: "\(incoming)/\(part)"
            )
        }
    }

    /// Waits until a started service has swept what was left behind, and compares what remains with what was acknowledged.
    private static func inspect(
        _ ledger: Ledger,
        _ service: RunningService,
        _ token: String,
        _ database: TemporaryDatabase,
        _ files: String,
        _ context: String
    ) async throws {
        try await waiting(until: "what was left behind is swept in \(context)") {
            let left = try await database.psql(
                """
                SELECT (SELECT count(*) FROM app_internal._asset WHERE state <> 'stored')
                    + (SELECT count(*) FROM app_internal._garbage)
                """
            )
            return left == "0" && contentsOfDirectory(files + "/app/incoming") == []
        }
        let names = try await database.psql("SELECT name FROM app_internal._asset")
        let rows = Set(names.split(separator: "\n").map(String.init))
        // Their directories have the first two digits of their names.
        let shards = (contentsOfDirectory(files + "/app") ?? []).filter { $0.utf8.count == 2 }
        let stored = Set(shards.flatMap { contentsOfDirectory("\(files)/app/\($0)") ?? [] })
        #expect(rows == stored, "\(context)")
        let clean = try await verify(database, files)
        #expect(clean.status == .exited(0), "\(context): \(clean)")

        let lost = ledger.lost(rows)
        #expect(lost.isEmpty, "\(context)")
        for (name, content) in ledger.unchecked(rows) {
            let (text, response) = try await service.get("files/\(name)", headers: ["Authorization": "Bearer \(token)"])
            #expect(response.statusCode == 200, "\(context): \(name)")
            #expect(text == content.text, "\(context): \(name)")
        }
    }

    private static func verify(
        _ database: TemporaryDatabase,
        _ files: String,
        _ words: String...
    ) async throws -> Tool.Result {
        try await Tool.run(
            words: [Tool.path, "files", "verify", "--database-url", database.url] + words,
            environment: ["SKYROW_FILE_DIRECTORY": files]
        )
    }

    // MARK: - What was acknowledged

    /// The bytes of a file: repetitions of a line that no other file has.
    private struct Content: Sendable {
        let line: String
        let count: Int

        var text: String { String(repeating: line, count: count) }
    }

    /// What clients have been told.
    private final class Ledger: Sendable {
        private struct State {
            /// The files whose uploads were acknowledged.
            var kept: [String: Content] = [:]
            /// Those of them that were not read yet.
            var unchecked: Set<String> = []
            /// The files whose deletion was requested, and not acknowledged.
            var doubtful: [String: Content] = [:]
            var acknowledged = 0
        }

        private let state = Mutex(State())

        /// The number of acknowledged uploads.
        var acknowledged: Int { state.withLock(\.acknowledged) }

        func keep(_ name: String, _ content: Content) {
            state.withLock { state in
                state.kept[name] = content
                state.unchecked.insert(name)
                state.acknowledged += 1
            }
        }

        /// Returns an acknowledged file, which is deleted next; nil before the first.
        func take(_ random: inout SeededGenerator) -> String? {
            let number = Int.random(in: 0..<1000, using: &random)
            return state.withLock { state in
                guard !state.kept.isEmpty else { return nil }
                let index = state.kept.index(state.kept.startIndex, offsetBy: number % state.kept.count)
                let (name, content) = state.kept.remove(at: index)
                state.doubtful[name] = content
                state.unchecked.remove(name)
                return name
            }
        }

        /// Notes that a deletion was acknowledged.
        func forget(_ name: String) {
            state.withLock { $0.doubtful[name] = nil }
        }

        /// The acknowledged files that have no row.
        func lost(_ rows: Set<String>) -> Set<String> {
            state.withLock { Set($0.kept.keys).subtracting(rows) }
        }

        /// The files that were not read yet; those that should have been deleted may be among them, as a whole.
        func unchecked(_ rows: Set<String>) -> [String: Content] {
            state.withLock { state in
                for (name, content) in state.doubtful where rows.contains(name) {
                    state.kept[name] = content
                    state.unchecked.insert(name)
                }
                state.doubtful = [:]
                defer { state.unchecked = [] }
                return state.kept.filter { state.unchecked.contains($0.key) }
            }
        }
    }

    // MARK: - Clients

    /// Kills a service once its clients have sent it some bytes.
    private final class Meter: Sendable {
        private let service: ChildProcess
        private let left: Mutex<Int>
        private let waitsForBody: Bool

        /// - Parameter waitsForBody: whether it is killed at the end of a body, when the file is made durable, and not inside of one.
        init(of service: ChildProcess, bytes: Int, waitsForBody: Bool) {
            self.service = service
            left = Mutex(bytes)
            self.waitsForBody = waitsForBody
        }

        func note(_ count: Int, isEnd: Bool) {
            let isOver = left.withLock { left in
                left -= count
                return left <= 0
            }
            if isOver, isEnd || !waitsForBody { service.send(signal: SIGKILL) }
        }
    }

    /// The end of the service.
    private struct Gone: Error {}

    /// Uploads and deletes files, one after the other, until the service is gone.
    private final class Client: Sendable {
        private let port: UInt16
        private let token: String
        private let meter: Meter
        private let ledger: Ledger
        private let generator: SeededGenerator

        init(_ port: UInt16, _ token: String, _ meter: Meter, _ ledger: Ledger, _ generator: SeededGenerator) {
            (self.port, self.token, self.meter, self.ledger) = (port, token, meter, ledger)
            self.generator = generator
        }

        func run() throws {
            var random = generator
            do {
                while true {
                    switch Int.random(in: 0..<8, using: &random) {
                    case 0...1: try delete(&random)
                    case 2...4: try post(content(&random))
                    default: try announceAndPost(content(&random))
                    }
                }
            } catch is Gone {}
        }

        /// From a line to a megabyte, as many small ones as large ones.
        private func content(_ random: inout SeededGenerator) -> Content {
            let line = "\(random.next())\n"
            return Content(line: line, count: max(1, (1 << Int.random(in: 0...20, using: &random)) / line.utf8.count))
        }

        private func post(_ content: Content) throws {
            let response = try send("/files?filename=a.txt", ["Content-Type: text/plain"], content.text, expecting: 201)
            ledger.keep(try Self.name(response["result"]), content)
        }

        /// As SDKs of Skygear do it.
        private func announceAndPost(_ content: Content) throws {
            let text = content.text
            let announced = try call(
                "asset:put",
                #"{"filename":"a.txt","content-type":"text/plain","content-size":\#(text.utf8.count)}"#
            )
            let name = try Self.name(announced["asset"])
            let request = try #require(announced["post-request"] as? [String: Any])
            let action = try #require(request["action"] as? String)
            let disposition = #"Content-Disposition: form-data; name="file"; filename="a.txt""#
            let form = ["--x", disposition, "Content-Type: text/plain", "", text, "--x--", ""].joined(separator: "\r\n")
            _ = try send(action, ["Content-Type: multipart/form-data; boundary=x"], form, expecting: 200)
            ledger.keep(name, content)
        }

        private func delete(_ random: inout SeededGenerator) throws {
            guard let name = ledger.take(&random) else { return }
            let result = try call("file:delete", #"{"names":["\#(name)"]}"#)
            guard result["deleted"] as? Int == 1 else { throw ServiceFailure(description: "\(name): \(result)") }
            ledger.forget(name)
        }

        private static func name(_ asset: Any?) throws -> String {
            try #require((asset as? [String: Any])?["$name"] as? String)
        }

        private func call(_ method: String, _ parameters: String) throws -> [String: Any] {
            let body = #"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":\#(parameters)}"#
            let response = try send("/rpc", ["Content-Type: application/json"], body, expecting: 200)
            guard let result = response["result"] as? [String: Any] else {
                throw ServiceFailure(description: "\(method): \(response)")
            }
            return result
        }

        /// Sends a request on a new connection, and returns the object of the response.
        ///
        /// Throws ``Gone`` if no whole response arrives, and ``ServiceFailure`` for another status.
        private func send(
            _ path: String,
            _ fields: [String],
            _ body: String,
            expecting status: Int
        ) throws -> [String: Any] {
            guard let connection = try? FileDescriptor(connectingTo: port) else { throw Gone() }
            let own = ["Host: localhost", "Connection: close", "Authorization: Bearer \(token)"]
            let lines = ["POST \(path) HTTP/1.1"] + own + fields + ["Content-Length: \(body.utf8.count)", "", ""]
            guard connection.send(lines.joined(separator: "\r\n").utf8) else { throw Gone() }
            var rest = Array(body.utf8)[...]
            while !rest.isEmpty {
                let part = rest.prefix(4096)
                rest = rest.dropFirst(part.count)
                guard connection.send(part) else { throw Gone() }
                meter.note(part.count, isEnd: rest.isEmpty)
            }
            var response: [UInt8] = []
            while let part = try? connection.read(upTo: 65_536), !part.isEmpty { response += part }
            return try Self.object(String(decoding: response, as: UTF8.self), expecting: status)
        }

        private static func object(_ response: String, expecting status: Int) throws -> [String: Any] {
            guard let end = response.firstRange(of: "\r\n\r\n"),
                let length = response.firstMatch(of: /(?im)^content-length: (\d+)/).flatMap({ Int($0.1) })
            else { throw Gone() }
            let body = response[end.upperBound...]
            guard body.utf8.count == length else { throw Gone() }
            guard response.hasPrefix("HTTP/1.1 \(status) ") else { throw ServiceFailure(description: response) }
            return try #require(try JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any])
        }
    }
}
