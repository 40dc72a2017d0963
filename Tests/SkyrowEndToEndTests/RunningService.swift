import Foundation
import FoundationNetworking
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// A `skyrow serve` of a test's own, on a free port.
final class RunningService: Sendable {
    let process: ChildProcess
    /// What it said before and with its being ready.
    let announcement: [String]
    let address: URL
    let directory: String
    private let environment: [String: String]
    /// What it says on standard error, line by line.
    let complaints: AsyncStream<String>
    private let session: URLSession = {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = TimeInterval(patience.components.seconds)
        return URLSession(configuration: configuration)
    }()

    /// Times that no client of a test is too late for, on any machine; the arguments of a test override them.
    private static let timesOfClients = [
        "--header-timeout", "1h", "--idle-timeout", "1h", "--body-timeout", "1h", "--minimum-body-rate", "0",
        "--write-timeout", "1h",
    ]

    /// Times in which PostgreSQL answers on any machine, unless it is away.
    private static let timesOfDatabase = [
        "--response-timeout", "1h", "--shutdown-timeout", "5m", "--database-connect-timeout", "1m",
        "--database-acquire-timeout", "1h", "--statement-timeout", "1h", "--read-statement-timeout", "1h",
        "--idle-transaction-timeout", "1h",
    ]

    private init(
        process: ChildProcess,
        announcement: [String],
        address: URL,
        directory: String,
        environment: [String: String],
        complaints: AsyncStream<String>
    ) {
        self.process = process
        self.announcement = announcement
        self.address = address
        self.directory = directory
        self.environment = environment
        self.complaints = complaints
    }

    /// Starts it and waits until it says that it serves; fails with what it complained about when it ends before.
    ///
    /// With `SKYROW_TEST_PATIENCE` the time limits that no setting changes are long, too.
    ///
    /// - Parameter refusesInTime: whether requests are refused when PostgreSQL has not answered in the service's own times, for
    ///   tests in which it is away; otherwise they wait for it.
    static func start(
        in directory: String,
        arguments: [String] = ["--development"],
        environment: [String: String] = [:],
        logLevel: String? = "warning",
        input: FileDescriptor? = nil,
        refusesInTime: Bool = false
    ) async throws -> RunningService {
        let level = logLevel.map { ["--log-level", $0] } ?? []
        let times = timesOfClients + (refusesInTime ? [] : timesOfDatabase)
        let (process, output, errors) = try await Tool.launch(
            [Tool.path, "serve", "--data-directory", directory, "--port", "0"] + times + level + arguments,
            environment: (refusesInTime ? [:] : ["SKYROW_TEST_PATIENCE": "1"]).merging(environment) { $1 },
            input: input
        )
        let complaints = Tool.lines(of: errors)
        let hasGivenKeys = environment["SKYROW_API_KEY"] != nil
        // A service that is killed closes its output.
        let announcement = try await waiting(for: "skyrow to say that it serves", within: .seconds(600)) {
            process.send(signal: SIGKILL)
        } _: {
            var announcement: [String] = []
            for await line in Tool.lines(of: output) {
                announcement.append(line)
                if line.contains(" psql ") || line.hasPrefix("The keys are in ") || line.hasPrefix("The keys of this ")
                {
                    break
                }
                if hasGivenKeys && announcement.count == 2 { break }
            }
            return announcement
        }
        guard let address = announcement.first.flatMap({ URL(string: String($0.dropFirst("Skyrow serves ".count))) })
        else {
            let complaint = try await waiting(for: "the end of what skyrow complains of") {
                await complaints.reduce(into: "") { $0 += $1 + "\n" }
            }
            throw ServiceFailure(description: "skyrow serve ended with \(await process.ended()): \(complaint)")
        }
        return RunningService(
            process: process,
            announcement: announcement,
            address: address,
            directory: directory,
            environment: environment,
            complaints: complaints
        )
    }

    /// The same service, spoken to through a proxy.
    func reached(at address: URL) -> RunningService {
        RunningService(
            process: process,
            announcement: announcement,
            address: address,
            directory: directory,
            environment: environment,
            complaints: complaints
        )
    }

    /// The value of `SKYROW_API_KEY` or `SKYROW_MASTER_KEY`, given to the service or in the data directory.
    func key(_ name: String) throws -> String {
        if let given = environment[name] { return given }
        // They get that name when the last line of the announcement is out.
        // They may get it between two looks. A lazy map would look twice at the file that it finds first.
        let files = ["keys", "keys.new", "keys"].compactMap { contentsOfFile("\(self.directory)/\($0)") }
        let content = try #require(files.first)
        let line = try #require(content.split(separator: "\n").first { $0.hasPrefix(name + "=") })
        return String(line.dropFirst(name.count + 1))
    }

    /// Calls an action, with the master key or with an access token; the answer's `result`.
    func call(_ method: String, _ parameters: String, token: String? = nil) async throws -> String {
        let (data, _) = try await rpc(method, parameters, token: token)
        let answer = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        guard let result = answer["result"] else {
            throw ServiceFailure(description: String(decoding: data, as: UTF8.self))
        }
        return String(
            decoding: try JSONSerialization.data(withJSONObject: result, options: [.sortedKeys]),
            as: UTF8.self
        )
    }

    /// Saves a note and returns its id when that was acknowledged.
    func saveNote(_ id: String) async throws -> String {
        try await save("note/\(id)", content: id)
        return id
    }

    /// Saves a record with a field `content`; throws ``ServiceFailure`` with the answer when it was refused.
    func save(_ id: String, content: String) async throws {
        let answer = try await call("record:save", #"{"records":[{"_id":"\#(id)","content":"\#(content)"}]}"#)
        guard answer.contains(#""_type":"record""#) else { throw ServiceFailure(description: answer) }
    }

    /// Sends a call, with an access token or the master key, unless the headers have another; the whole answer.
    @discardableResult
    func rpc(
        _ method: String,
        _ parameters: String,
        token: String? = nil,
        headers: [String: String] = [:]
    ) async throws -> (Data, HTTPURLResponse) {
        var request = URLRequest(url: address.appendingPathComponent("rpc"))
        request.httpMethod = "POST"
        if let token {
            request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization")
        } else {
            request.setValue(try key("SKYROW_MASTER_KEY"), forHTTPHeaderField: "X-Skygear-API-Key")
        }
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
        request.httpBody = Data(#"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":\#(parameters)}"#.utf8)
        let (data, response) = try await session.data(for: request)
        return (data, try #require(response as? HTTPURLResponse))
    }

    /// The text behind a path.
    func get(_ path: String, headers: [String: String] = [:]) async throws -> (String, HTTPURLResponse) {
        var request = URLRequest(url: address.appendingPathComponent(path))
        for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
        let (data, response) = try await session.data(for: request)
        return (String(decoding: data, as: UTF8.self), try #require(response as? HTTPURLResponse))
    }

    /// The status of a GET.
    func status(_ path: String) async throws -> Int {
        try await get(path).1.statusCode
    }

    /// What a query prints through `skyrow psql`.
    func psql(_ query: String) async throws -> String {
        let result = try await Tool.run("psql", "--data-directory", directory, "-X", "-At", "-c", query)
        guard result.status == .exited(0) else { throw ServiceFailure(description: result.errors) }
        return result.output
    }

    /// What it said on standard error, if a fault of its own has ended it: where that was, among other things.
    func crash() async -> String? {
        guard case .killed(let signal) = process.exitIfEnded, ![SIGKILL, SIGTERM].contains(signal) else { return nil }
        return await complaints.reduce(into: "") { $0 += $1 + "\n" }
    }

    /// Ends it in order.
    func terminate() async -> ProcessExit {
        process.send(signal: SIGTERM)
        return await process.ended()
    }
}

struct ServiceFailure: Error, CustomStringConvertible {
    var description: String
}

/// The cluster that a first start makes. Services of tests get copies, since making one takes a second of processor time.
private enum NewCluster {
    private static let prototype = Task {
        let folder = try SharedDirectory(named: "cluster")
        let cluster = try EmbeddedCluster(directory: DataDirectory(creating: folder.path + "/service"))
        if case .initialize(let version) = try cluster.nextStep() {
            try await cluster.initialize(majorVersion: version)
        }
        return (folder, cluster.directory)
    }

    /// Makes a data directory with the cluster and nothing else.
    static func copy(to path: String) async throws {
        let (_, source) = try await prototype.value
        let target = try DataDirectory(creating: path)
        let result = try await Tool.run(words: ["cp", "-a", source.cluster, target.cluster])
        guard result.status == .exited(0) else { throw ServiceFailure(description: result.errors) }
    }
}

/// Runs `body` with a service on a new data directory, and ends the service.
///
/// - Parameter makesCluster: whether the service makes its cluster by itself, for tests of the first start.
func withService(
    arguments: [String] = ["--development"],
    refusesInTime: Bool = false,
    makesCluster: Bool = false,
    _ body: (RunningService) async throws -> Void
) async throws {
    let folder = try TemporaryDirectory()
    if !makesCluster { try await NewCluster.copy(to: folder.path + "/data") }
    let service = try await RunningService.start(
        in: folder.path + "/data",
        arguments: arguments,
        refusesInTime: refusesInTime
    )
    do {
        try await body(service)
    } catch {
        _ = await service.terminate()
        throw error
    }
    _ = await service.terminate()
}
