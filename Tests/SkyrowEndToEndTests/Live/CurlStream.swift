import Foundation
import SkyrowTestSupport
import Synchronization
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// A live query that `curl -N` reads, and what a client that applies its events then holds.
final class CurlStream: Sendable {
    fileprivate struct State {
        var held: [String: String] = [:]
        var phases: [String] = []
        var resets: [String] = []
        var lastID: String?
        var hasEnded = false
        // Of the event that is being read.
        var event = ""
        var data = ""
    }

    private let process: ChildProcess
    private let state = Mutex(State())

    /// - Parameters:
    ///   - address: with the parameters of the query.
    ///   - socket: a Unix socket in the place of the address's host.
    ///   - former: the stream whose records it holds, and from whose last id it goes on.
    init(_ address: String, socket: String?, key: String, resuming former: CurlStream? = nil) async throws {
        var words = ["curl", "-N", "-s", "-S", "-H", "X-Skygear-API-Key: \(key)"]
        if let socket { words += ["--unix-socket", socket] }
        if let former {
            words += ["-H", "Last-Event-ID: \(try #require(former.state.withLock { $0.lastID }))"]
            state.withLock { $0.held = former.held }
        }
        let (process, output, _) = try await Tool.launch(words + [address])
        self.process = process
        let lines = Tool.lines(of: output)
        Task { [self] in
            for await line in lines { state.withLock { $0.take(line) } }
            state.withLock { $0.hasEnded = true }
        }
    }

    /// The field `content` of each record, by its id.
    var held: [String: String] { state.withLock { $0.held } }
    /// The phases of its changes, each where it first came.
    var phases: [String] { state.withLock { $0.phases } }
    /// The reasons of resets.
    var resets: [String] { state.withLock { $0.resets } }

    /// The id of its last event that has one.
    var lastID: String? { state.withLock { $0.lastID } }
    /// Whether there is a change token to go on from.
    var hasToken: Bool { lastID.map { !$0.hasPrefix(".") } ?? false }

    func send(signal: Int32) { process.send(signal: signal) }

    /// Returns when it holds these records.
    func waits(for records: [String: String]) async throws {
        do {
            try await waiting(until: "the stream has \(records.count) records as they are") {
                let (held, hasEnded) = state.withLock { ($0.held, $0.hasEnded) }
                if held != records, hasEnded { throw ServiceFailure(description: "the stream has ended") }
                return held == records
            }
        } catch {
            let state = state.withLock { $0 }
            Issue.record("\(error): \(state.held.mapValues { $0.prefix(20) }), \(state.phases), \(state.resets)")
            throw error
        }
    }

    /// Ends it as a network does that is lost.
    func end() async {
        process.send(signal: SIGKILL)
        _ = await process.ended("curl")
    }
}

extension CurlStream.State {
    fileprivate mutating func take(_ line: String) {
        if let name = line.value(of: "event") { event = name }
        if let text = line.value(of: "data") { data += text }
        if let id = line.value(of: "id") { lastID = id }
        guard line.isEmpty else { return }
        defer { (event, data) = ("", "") }
        guard let json = try? JSONSerialization.jsonObject(with: Data(data.utf8)) as? [String: Any] else { return }
        switch event {
        case "live:changes":
            let phase = json["phase"] as? String ?? ""
            if !phases.contains(phase) { phases.append(phase) }
            for change in json["changes"] as? [[String: Any]] ?? [] {
                if let record = change["record"] as? [String: Any], let id = record["_id"] as? String {
                    held[id] = change["event"] as? String == "left" ? nil : record["content"] as? String
                } else if let id = change["id"] as? String {
                    held[id] = nil
                }
            }
        case "live:reset": resets.append(json["reason"] as? String ?? "")
        default: break
        }
    }
}

extension String {
    /// What a line of an event stream says of a field.
    fileprivate func value(of field: String) -> String? {
        guard hasPrefix(field + ":") else { return nil }
        let rest = dropFirst(field.count + 1)
        return String(rest.first == " " ? rest.dropFirst() : rest)
    }
}

/// Runs `body` with an nginx before a service, reached through a socket.
func withNginx(
    in folder: String,
    before service: RunningService,
    _ body: (_ socket: String) async throws -> Void
) async throws {
    let socket = folder + "/nginx.sock"
    let configuration = """
        daemon off;
        pid \(folder)/pid;
        error_log stderr warn;
        events {}
        http {
            access_log off;
            client_body_temp_path \(folder)/body;
            proxy_temp_path \(folder)/proxy;
            fastcgi_temp_path \(folder)/fastcgi;
            uwsgi_temp_path \(folder)/uwsgi;
            scgi_temp_path \(folder)/scgi;
            map $http_upgrade $connection_upgrade { default upgrade; '' ''; }
            server {
                listen unix:\(socket);
                location / {
                    proxy_pass \(service.address.absoluteString);
                    proxy_http_version 1.1;
                    proxy_set_header Upgrade $http_upgrade;
                    proxy_set_header Connection $connection_upgrade;
                    proxy_send_timeout 1h;
                    proxy_read_timeout 1h;
                }
            }
        }
        """
    let path = folder + "/nginx.conf"
    try configuration.write(toFile: path, atomically: false, encoding: .utf8)
    // Debian has it where only root's path leads.
    let (nginx, _, _) = try await Tool.launch(["/usr/sbin/nginx", "-p", folder, "-c", path])
    do {
        try await waiting(until: "nginx listens") {
            if nginx.exitIfEnded != nil { throw ServiceFailure(description: "nginx ended") }
            return FileManager.default.fileExists(atPath: socket)
        }
        try await body(socket)
    } catch {
        nginx.send(signal: SIGTERM)
        _ = await nginx.ended("nginx")
        throw error
    }
    nginx.send(signal: SIGTERM)
    _ = await nginx.ended("nginx")
}
