import Foundation
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// Thousands of clients that are connected and ask for nothing.
@Suite struct ManyClientsTests {
    @Test func idleClientsTakeLittleMemoryAndNobodysTurn() async throws {
        // The other ends are in this process.
        let files = FileLimit.raise()
        let count = min(10_000, files - 1000)
        try #require(count >= 4000, "This needs 5000 open files; the hard limit (ulimit -Hn) is \(files).")
        let folder = try TemporaryDirectory()
        let service = try await RunningService.start(
            in: folder.path + "/data",
            arguments: [
                "--development", "--header-timeout", "1h", "--idle-timeout", "1h",
                "--maximum-connections", "\(count + 100)", "--client-share", "100",
            ]
        )
        let port = UInt16(try #require(service.address.port))
        let before = try ownMemory(of: service.process)
        let clients = try await onThread { try idleClients(count, port: port) }
        let perClient = (try ownMemory(of: service.process) - before) / count
        #expect(perClient < 32 * 1024)

        #expect(try await service.saveNote("beside them") == "beside them")
        for client in [clients.first, clients.last] {
            let client = try #require(client)
            try await onThread {
                try client.write(healthRequest.utf8)
                try expectAnswer(on: client)
            }
        }
        // They do not hold up its end either.
        #expect(await service.terminate() == .exited(0))
        withExtendedLifetime(clients) {}
    }
}

/// What ``expectAnswer(on:)`` reads the response to.
let healthRequest = "HEAD /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"

/// Connections that have been served once and stay open.
private func idleClients(_ count: Int, port: UInt16) throws -> [FileDescriptor] {
    var clients: [FileDescriptor] = []
    while clients.count < count {
        // Not more at a time than the system keeps for a server that is busy.
        let batch = try (0..<min(500, count - clients.count)).map { _ in
            let client = try FileDescriptor(connectingTo: port)
            try client.write(healthRequest.utf8)
            return client
        }
        for client in batch { try expectAnswer(on: client) }
        clients += batch
    }
    return clients
}

func expectAnswer(on client: FileDescriptor) throws {
    var response = ""
    while !response.hasSuffix("\r\n\r\n") {
        let part = try client.read(upTo: 4096)
        try #require(!part.isEmpty, "The service closed the connection after '\(response)'.")
        response += String(decoding: part, as: UTF8.self)
    }
    #expect(response.hasPrefix("HTTP/1.1 200 "))
}

/// The memory that a process has to itself, in bytes (`RssAnon` of proc(5)).
///
/// Pages of the executable do not count. The system maps them when their code is first run, so on a slow machine they come with
/// timers that a fast one does not reach.
func ownMemory(of process: ChildProcess) throws -> Int {
    let status = try #require(contentsOfFile("/proc/\(process.processID)/status"))
    let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("RssAnon:") })
    return try #require(Int(line.filter(\.isNumber))) * 1024
}

/// Runs what blocks on a thread of its own.
func onThread<Success: Sendable>(_ work: @escaping @Sendable () throws -> Success) async throws -> Success {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result(catching: work)) }
    }
}
