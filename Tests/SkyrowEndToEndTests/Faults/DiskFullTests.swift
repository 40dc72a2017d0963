import Foundation
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// A file system of a test's own, in memory, which is soon full.
private struct SmallFileSystem: ~Copyable {
    let path: String

    /// Mounting takes root, or sudo, which installs the packages that tests need too.
    private static let asRoot = geteuid() == 0 ? [] : ["sudo", "-n"]

    init(megabytes: Int) async throws {
        path = NSTemporaryDirectory() + "skyrow-small-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        let options = "size=\(megabytes)m,mode=755,uid=\(geteuid()),gid=\(getegid())"
        let mount = try await Tool.run(
            words: Self.asRoot + ["mount", "-t", "tmpfs", "-o", options, "skyrow-test", path]
        )
        guard mount.status == .exited(0) else {
            throw ServiceFailure(description: "A small file system needs root or sudo: \(mount.errors)")
        }
    }

    func remove() async throws {
        _ = try await Tool.run(words: Self.asRoot + ["umount", "--lazy", path])
        try FileManager.default.removeItem(atPath: path)
    }

    /// Leaves no free byte.
    func fill() throws {
        let file = try FileDescriptor(opening: path + "/filler", O_WRONLY | O_CREAT | O_APPEND, mode: 0o600)
        for size in [1 << 20, 4096] {
            let block = [UInt8](repeating: 1, count: size)
            while write(file.number, block, size) > 0 {}
        }
    }

    func freeSpace() throws {
        try FileManager.default.removeItem(atPath: path + "/filler")
    }
}

@Suite(.timeLimit(.minutes(60))) struct DiskFullTests {
    @Test func aFullDiskRefusesSavesAndRoomOnItLetsThemIn() async throws {
        let disk = try await SmallFileSystem(megabytes: 256)
        do {
            let service = try await RunningService.start(
                in: disk.path + "/data",
                logLevel: "error",
                refusesInTime: true
            )
            // What the service complains of tells why a refusal was not one of those that are clear.
            let complaints = Task { await service.complaints.reduce(into: [String]()) { $0.append($1) } }
            // Long enough to need new blocks all the time, too random to be compressed away.
            let load = Load(size: 1000)
            // While PostgreSQL is away, saves are refused after the ten seconds in which a connection may become free: many wait at
            // once. Less than these would be too little for a start on a busy machine.
            async let running: Void = load.run(on: service, tasks: 20)
            try await load.awaitProgress(20)
            try disk.fill()
            try await load.awaitRefusals(20)
            #expect(try await service.status("healthz") == 200)
            // Reading goes on, when it has its turn on a connection.
            try await waiting(until: "notes are read") {
                let notes = try? await service.call("record:query", #"{"record_type":"note","limit":1}"#)
                return notes?.contains(#""_type":"record""#) == true
            }
            // Without room for the write-ahead log PostgreSQL itself gives up, and cannot start either.
            _ = try? await service.psql("SELECT pg_switch_wal()")
            try await load.awaitRefusals(20)
            try disk.freeSpace()
            try await load.awaitProgress(20)
            load.stop()
            await running
            #expect(load.outcomes.losses == [])
            let ids = Set(try await service.psql("SELECT _id FROM note").split(separator: "\n").map(String.init))
            #expect(load.acknowledged.subtracting(ids).isEmpty)
            #expect(await service.terminate() == .exited(0))
            // Without room PostgreSQL may meet what it calls an internal error (class XX); then the log says so.
            let lines = try await waiting(for: "the end of the complaints") { await complaints.value }
            for code in Set(load.outcomes.refusals.keys).subtracting(DatabaseFaultTests.clearRefusals) {
                #expect(code == 10000 && lines.contains { $0.contains("SQLSTATE XX") }, "\(code): \(lines)")
            }
        } catch {
            try await disk.remove()
            throw error
        }
        try await disk.remove()
    }
}
