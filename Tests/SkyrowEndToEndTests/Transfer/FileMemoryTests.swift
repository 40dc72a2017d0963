import Foundation
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// What many transfers of files at once take of the memory of the service.
@Suite(.timeLimit(.minutes(60))) struct FileMemoryTests {
    private static let transfers = 32
    private static let bound = 16 << 20

    /// Uploads a file in parts, and returns the largest memory that the service had after one of them.
    private static func upload(_ length: Int, to service: RunningService) throws -> Int {
        let client = try FileDescriptor(connectingTo: UInt16(try #require(service.address.port)))
        let key = try service.key("SKYROW_MASTER_KEY")
        let head = """
            POST /files?filename=a.bin HTTP/1.1\r\nHost: localhost\r\nX-Skygear-API-Key: \(key)\r\n\
            Content-Length: \(length)\r\n\r\n
            """
        try client.write(head.utf8)
        let part = [UInt8](repeating: 7, count: 64 * 1024)
        var largest = 0
        for _ in 0..<length / part.count {
            try client.write(part)
            largest = max(largest, try ownMemory(of: service.process))
        }
        let response = String(decoding: try client.read(upTo: 4096), as: UTF8.self)
        try #require(response.hasPrefix("HTTP/1.1 201 "), "\(response)")
        return largest
    }

    /// Uploads files at the same time, and returns the largest memory of the service meanwhile.
    private static func uploads(of length: Int, to service: RunningService) async throws -> Int {
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<transfers {
                group.addTask { try await onThread { try upload(length, to: service) } }
            }
            return try await group.reduce(0) { max($0, $1) }
        }
    }

    @Test func manyUploadsTakeLittle() async throws {
        try await withService(arguments: ["--development", "--client-share", "100"]) { service in
            // Connections to the database, and threads.
            _ = try await Self.uploads(of: 64 * 1024, to: service)
            let before = try ownMemory(of: service.process)
            let largest = try await Self.uploads(of: 16 << 20, to: service)
            #expect(largest - before <= Self.bound, "\(before) bytes before, \(largest) during the uploads")
        }
    }

    @Test func manySlowReadersTakeLittle() async throws {
        try await withService(arguments: ["--development", "--client-share", "100"]) { service in
            let file = HandMadeFile(1, "large.bin", "large")
            try file.write(to: service.directory + "/files")
            // It has holes and no blocks.
            try #require(truncate(file.path(in: service.directory + "/files"), 1 << 30) == 0)
            _ = try await service.psql(file.row)
            let key = try service.key("SKYROW_MASTER_KEY")
            let port = UInt16(try #require(service.address.port))
            @Sendable func reader() throws -> FileDescriptor {
                let client = try FileDescriptor(connectingTo: port)
                let head = "GET /files/\(file.name) HTTP/1.1\r\nHost: localhost\r\nX-Skygear-API-Key: \(key)\r\n\r\n"
                try client.write(head.utf8)
                var received = try client.read(upTo: 4096)
                let status = String(decoding: received.prefix(13), as: UTF8.self)
                try #require(status == "HTTP/1.1 200 ", "\(String(decoding: received, as: UTF8.self))")
                while received.count < 1 << 20 { received += try client.read(upTo: 65536) }
                return client
            }
            let first = try await onThread { try reader() }
            let before = try ownMemory(of: service.process)
            let others = try await onThread { try (1..<Self.transfers).map { _ in try reader() } }
            let during = try ownMemory(of: service.process)
            #expect(during - before <= Self.bound, "\(before) bytes before, \(during) during the downloads")
            // Readers who stop take nothing from others.
            #expect(try await service.saveNote("beside them") == "beside them")
            withExtendedLifetime((first, others)) {}
        }
    }
}
