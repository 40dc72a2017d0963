import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

/// The row of an upload, and what the statements do to it.
private struct UploadRow: Equatable {
    var lease: Int64 = 1
    /// nil: no request has the lease.
    var isValid: Bool? = true
    var isWanted = false
    var received: Int64 = 0

    mutating func claim() -> Int64? {
        guard isValid != true else {
            isWanted = true
            return nil
        }
        self = UploadRow(lease: lease + 1, isValid: true, isWanted: false, received: received)
        return lease
    }

    mutating func renew(_ number: Int64) -> UploadRenewal {
        guard number == lease, isValid != nil else { return .lost }
        isValid = true
        return isWanted ? .wanted : .held
    }

    mutating func release(_ number: Int64, at received: Int64) -> Bool {
        guard number == lease, isValid != nil else { return false }
        self = UploadRow(lease: lease, isValid: nil, isWanted: false, received: received)
        return true
    }

    /// Time passes.
    mutating func lapse() {
        if isValid == true { isValid = false }
    }
}

/// Requests of an upload in several processes, which crash, stall and lose their leases.
@Suite(.timeLimit(.minutes(60))) struct UploadModelTests {
    // MARK: - The model and the statements

    @Test func statementsDoWhatTheModelDoes() async throws {
        try await withAssets { f in
            var random = SeededGenerator.forTest()
            let minute = Duration.seconds(60)
            for number in 0..<seededCases(3) {
                let id = uploadID(number)
                let lease = try #require(try await f.announce(id, number))
                var row = UploadRow()
                #expect(lease.number == row.lease)
                for _ in 0..<25 {
                    // Also those that are over.
                    let number = Int64.random(in: max(1, row.lease - 2)...row.lease, using: &random)
                    let old = UploadLease(id: id, number: number)
                    switch Int.random(in: 0..<4, using: &random) {
                    case 0:
                        let claimed = try await f.assets.claim(id, for: minute)
                        let received = row.received
                        let expected = row.claim()
                        #expect(claimed?.1.number == expected)
                        if let claimed { #expect(claimed.0.received == received) }
                    case 1:
                        let found = try await f.assets.renew(old, for: minute)
                        let expected = row.renew(old.number)
                        #expect(found == expected)
                    case 2:
                        let received = Int64.random(in: 0...9, using: &random)
                        let found = try await f.assets.release(old, at: received)
                        let expected = row.release(old.number, at: received)
                        #expect(found == expected)
                    default:
                        try await f.psql(
                            "UPDATE _upload SET leased_until = now() WHERE leased_until IS NOT NULL AND id = '\(id)'"
                        )
                        row.lapse()
                    }
                    let stored = try await f.psql(
                        "SELECT lease, leased_until > now(), is_wanted, received FROM _upload WHERE id = '\(id)'"
                    )
                    let isValid = row.isValid.map { $0 ? "t" : "f" } ?? ""
                    #expect(stored == "\(row.lease)|\(isValid)|\(row.isWanted ? "t" : "f")|\(row.received)")
                }
            }
        }
    }

    // MARK: - The model, the file, and what happens

    /// Where a request of one process is.
    private enum Place: Equatable {
        case idle
        case claimed(Int64, received: Int64)
        case writing(Int64, at: Int64)
        /// The bytes are durable, and the row does not have their number yet.
        case suspended(Int64, at: Int64)
        /// The row has the digest.
        case ending(Int64)
        /// The file has its name.
        case kept
    }

    private struct World {
        static let size: Int64 = 20

        var row = UploadRow()
        var places = [Place](repeating: .idle, count: 3)
        /// The incoming file; nil after it got its name.
        var length: Int64? = 0
        /// How many of its bytes survive a crash of the machine.
        var durable: Int64 = 0
        var lockedBy: Int?
        var hasDigest = false
        var isNamed = false
        var isStored = false
        var isRemoved = false
        /// What a client was told.
        var acknowledged: Int64 = 0

        /// One step of a process.
        mutating func step(_ process: Int, _ random: inout SeededGenerator) {
            switch places[process] {
            case .idle:
                guard !isStored else { return }
                let received = row.received
                if let lease = row.claim() { places[process] = .claimed(lease, received: received) }
            case .claimed(let lease, let received):
                resume(process, lease, received)
            case .writing(let lease, let position):
                write(process, lease, position, &random)
            case .suspended(let lease, let position):
                let isRecorded = row.release(lease, at: position)
                if isRecorded {
                    #expect(position >= acknowledged)
                    acknowledged = position
                }
                places[process] = .idle
            case .ending:
                // By rename, after fsync.
                #expect(lockedBy == process && length == Self.size)
                (length, lockedBy, isNamed) = (nil, nil, true)
                places[process] = .kept
            case .kept:
                isStored = true
                places[process] = .idle
            }
        }

        private mutating func resume(_ process: Int, _ lease: Int64, _ received: Int64) {
            if hasDigest, isNamed {
                isStored = true
                places[process] = .idle
            } else if let length, lockedBy == nil {
                // The lease may have ended before this process had the lock.
                guard row.renew(lease) != .lost else {
                    places[process] = .idle
                    return
                }
                // What was acknowledged is there.
                #expect(length >= received && durable >= received)
                (self.length, durable, lockedBy) = (received, min(durable, received), process)
                places[process] = .writing(lease, at: received)
            } else {
                // Another process writes the file; the client tries again. Without it and without a name the bytes would be lost.
                if length == nil { isRemoved = true }
                _ = row.release(lease, at: received)
                places[process] = .idle
            }
        }

        private mutating func write(
            _ process: Int,
            _ lease: Int64,
            _ position: Int64,
            _ random: inout SeededGenerator
        ) {
            #expect(lockedBy == process && length == position)
            if position == Self.size, row.renew(lease) != .lost {
                hasDigest = true
                places[process] = .ending(lease)
            } else if position < Self.size, Int.random(in: 0..<3, using: &random) > 0 {
                let end = min(Self.size, position + Int64.random(in: 1...6, using: &random))
                length = end
                places[process] = .writing(lease, at: end)
            } else {
                // A complete file misses its last byte, so that the end is tried again.
                (durable, lockedBy) = (position, nil)
                places[process] = .suspended(lease, at: min(position, Self.size - 1))
            }
        }

        /// A process is killed. The system ends its lock.
        mutating func kill(_ process: Int) {
            if lockedBy == process { lockedBy = nil }
            places[process] = .idle
        }

        /// The machine loses what was not flushed.
        mutating func crash(_ random: inout SeededGenerator) {
            for process in places.indices { kill(process) }
            if let length { self.length = Int64.random(in: min(durable, length)...length, using: &random) }
        }

        mutating func event(_ random: inout SeededGenerator) {
            switch Int.random(in: 0..<20, using: &random) {
            case 0: kill(Int.random(in: places.indices, using: &random))
            case 1: crash(&random)
            case 2, 3: row.lapse()
            case 4:
                for case .writing(let lease, _) in places { _ = row.renew(lease) }
            default: step(Int.random(in: places.indices, using: &random), &random)
            }
        }
    }

    @Test func nothingAcknowledgedIsLost() {
        var random = SeededGenerator.forTest()
        var stored = 0
        for _ in 0..<seededCases(2000) {
            var world = World()
            // The request that has created it was answered.
            _ = world.row.release(1, at: 0)
            for _ in 0..<150 {
                world.event(&random)
                #expect(world.row.received == world.acknowledged)
                #expect(!world.isRemoved, "An upload whose file is complete was taken for one without bytes.")
                if let length = world.length { #expect(length >= world.acknowledged) }
                if world.isStored { #expect(world.isNamed && world.length == nil) }
                // One process at a time has the file.
                let writers = world.places.filter {
                    switch $0 {
                    case .writing, .ending: true
                    case .idle, .claimed, .suspended, .kept: false
                    }
                }
                #expect(writers.count <= 1)
            }
            if world.isStored { stored += 1 }
        }
        #expect(stored > 0)
    }
}
