import Foundation
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

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
