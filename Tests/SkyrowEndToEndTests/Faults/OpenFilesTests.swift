import Foundation
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// A service that may open no further file for a while.
@Suite(.timeLimit(.minutes(60))) struct OpenFilesTests {
    @Test func clientsWaitUntilItMayOpenFilesAgain() async throws {
        let hardLimit = FileLimit.raise()
        try await withService { service in
            #expect(try await service.saveNote("before") == "before")
            let open = try openFiles(of: service.process)
            let limit = try #require(open.max()) + 9
            try await limitOpenFiles(of: service.process, to: limit)
            let port = UInt16(try #require(service.address.port))
            // More than it has files for; the system accepts the rest for it, which wait.
            let clients = try await onThread {
                try (0..<limit - open.count + 16).map { _ in
                    let client = try FileDescriptor(connectingTo: port)
                    try client.write(healthRequest.utf8)
                    return client
                }
            }
            try await waiting(until: "the service has no file left") {
                try openFiles(of: service.process).count >= limit
            }
            try await limitOpenFiles(of: service.process, to: hardLimit)
            try await onThread {
                for client in clients { try expectAnswer(on: client) }
            }
            #expect(try await service.saveNote("after") == "after")
        }
    }
}

/// The numbers of the files that a process has open.
private func openFiles(of process: ChildProcess) throws -> [Int] {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process.processID)/fd").compactMap { Int($0) }
}

private func limitOpenFiles(of process: ChildProcess, to limit: Int) async throws {
    let result = try await Tool.run(words: ["prlimit", "--pid", "\(process.processID)", "--nofile=\(limit):"])
    try #require(result.status == .exited(0), "\(result.errors)")
}
