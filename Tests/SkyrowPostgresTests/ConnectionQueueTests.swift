import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres

/// The connection queue as a value: generated orders of events, and what must hold after each.
@Suite struct ConnectionQueueTests {
    enum Kind: String, CaseIterable, Sendable {
        case read, write, groupCommit

        var limits: QueueLimits {
            var configuration = PostgresConfiguration(connection: "")
            configuration.idleConnectionTimeout = .seconds(2)
            configuration.maximumReadBatch = 4
            configuration.maximumGroupCommit = 4
            configuration.maximumWriteConnections = 6
            switch self {
            case .read: return QueueLimits(role: .read, configuration: configuration)
            case .write: return QueueLimits(role: .write, configuration: configuration)
            case .groupCommit: return QueueLimits(role: .groupCommit, configuration: configuration)
            }
        }
    }

    @Test(arguments: Kind.allCases, 0..<40)
    func noOrderOfEventsLeavesWorkBehind(kind: Kind, number: Int) throws {
        var schedule = QueueSchedule(limits: kind.limits, random: SeededGenerator(seed: UInt64(number) &+ 1))
        for step in 0..<1500 {
            schedule.step()
            if let fault = schedule.fault() {
                Issue.record("\(kind.rawValue), seed \(number), step \(step): \(fault)\n\(schedule.history)")
                return
            }
        }
        if let fault = schedule.finish() {
            Issue.record("\(kind.rawValue), seed \(number), at the end: \(fault)\n\(schedule.history)")
        }
    }

    private func request(_ contention: PostgresContention? = nil) -> PostgresRequest {
        let request = PostgresRequest(
            sql: "SELECT 1",
            groupCommit: .never,
            contention: contention,
            queueDeadline: .distantFuture
        )
        _ = request.begin()
        return request
    }

    private static let time = MonotonicTime(nanoseconds: 0)

    /// A queue with this number of idle workers.
    private func queue(_ limits: QueueLimits, idle: Int) -> ConnectionQueue {
        var queue = ConnectionQueue(limits: limits)
        _ = queue.start()
        while queue.workerCount < idle { _ = queue.addWorker() }
        for slot in 0..<idle {
            queue.connected(slot)
            guard case .sleep = next(slot, &queue) else {
                Issue.record("Worker \(slot) does not sleep")
                continue
            }
        }
        return queue
    }

    private func next(
        _ slot: Int,
        _ queue: inout ConnectionQueue,
        at time: MonotonicTime = time
    ) -> ConnectionQueue.Step {
        queue.next(slot, at: time, hasYielded: true) { false }
    }

    private func effects(_ queue: inout ConnectionQueue, at time: MonotonicTime) -> [ConnectionQueue.Effect] {
        queue.enforceTimeLimits(at: time) { _ in 0 }.effects
    }

    @Test func aWorkerCountsAsTakenWhenItIsWoken() {
        var queue = queue(Kind.write.limits, idle: 1)
        guard case .queued(.wake(0)) = queue.submit(request()) else {
            Issue.record("The idle worker is not woken")
            return
        }
        // It has not awoken yet, and is not woken a second time.
        guard case .queued(.start(1)) = queue.submit(request()), case .queued(.start(2)) = queue.submit(request())
        else {
            Issue.record("No worker is added")
            return
        }
    }

    /// However many statements wait, also where no more of them are admitted.
    @Test func whatIsUrgentGoesFirst() {
        var queue = queue(Kind.read.limits, idle: 1)
        var admitted = 0
        while case .queued = queue.submit(request()) { admitted += 1 }
        #expect(admitted == 4096)
        let urgent = PostgresRequest(
            sql: "SELECT 2",
            groupCommit: .never,
            queueDeadline: .distantFuture,
            isUrgent: true
        )
        _ = urgent.begin()
        guard case .queued = queue.submit(urgent), case .run(let batch, _, _) = next(0, &queue) else {
            Issue.record("The urgent statement is not taken")
            return
        }
        #expect(batch.first === urgent && batch.count == 4)
    }

    @Test func aWorkerThatWaitsToConnectIsNotWokenForWork() {
        var queue = queue(Kind.read.limits, idle: 2)
        guard case .check = queue.next(1, at: Self.time, hasYielded: true, isSuspect: { true }) else {
            Issue.record("What arrived on the idle connection is not looked at")
            return
        }
        _ = queue.disconnected(1)
        let (shallSleep, _) = queue.backsOff(1)
        #expect(shallSleep)
        for _ in 0..<3 {
            guard case .queued(let effect) = queue.submit(request()) else { continue }
            #expect(effect == nil || effect == .wake(0))
            #expect(!queue.isBackOffOver(1))
        }
        guard case .run(let batch, _, _) = next(0, &queue) else {
            Issue.record("Nothing is taken")
            return
        }
        #expect(batch.count == 3)
    }

    @Test func aWorkerThatWaitsToConnectTriesAtOnceWhenTheServerIsBack() {
        var queue = queue(Kind.read.limits, idle: 2)
        for slot in 0..<2 {
            _ = queue.disconnected(slot)
            _ = queue.backsOff(slot)
        }
        #expect(queue.endBackOffs() == [.wake(0), .wake(1)])
        #expect(queue.isBackOffOver(0) && queue.isBackOffOver(1))
        #expect(queue.endBackOffs().isEmpty)
    }

    @Test func oneRowAndOneTableHoldAPartOfTheWorkers() {
        var limits = QueueLimits()
        limits.boundsEveryStatement = true
        limits.maximumWorkers = 16
        limits.boundedWorkers = 16
        limits.tableWorkers = 8
        limits.rowWorkers = 4
        var queue = queue(limits, idle: 16)
        func taken(_ contentions: [PostgresContention?]) -> Int {
            for contention in contentions { _ = queue.submit(request(contention)) }
            var count = 0
            for slot in 0..<16 where queue.workers[slot].activity == .looking {
                if case .run = next(slot, &queue) { count += 1 }
            }
            return count
        }
        let ofRow = taken(Array(repeating: PostgresContention(table: 1, row: 1), count: 20))
        #expect(ofRow == 4)
        #expect(queue.heldBackCount == 16)
        let ofTable = taken((2..<10).map { PostgresContention(table: 1, row: $0) })
        #expect(ofTable == 4)
        let ofOther = taken(Array(repeating: PostgresContention(table: 2), count: 20))
        #expect(ofOther == 8)
        #expect(queue.idle.isEmpty)
        #expect(queue.heldBackCount == 16 + 4 + 12)
        // The one that ends makes room for one of its own kind.
        guard let slot = queue.workers.firstIndex(where: { $0.contention?.row == 1 }) else {
            Issue.record("No worker runs a statement of the row")
            return
        }
        queue.finished(slot)
        guard case .run(let batch, _, _) = next(slot, &queue) else {
            Issue.record("Nothing is taken")
            return
        }
        #expect(batch.map(\.contention) == [PostgresContention(table: 1, row: 1)])
    }

    @Test func slowReadsLeaveConnectionsToOthers() {
        var queue = queue(Kind.read.limits, idle: 6)
        for _ in 0..<6 {
            let slow = request()
            slow.pace = .slow
            _ = queue.submit(slow)
        }
        for slot in 0..<6 where queue.workers[slot].activity == .looking { _ = next(slot, &queue) }
        #expect(queue.boundedCount == 4)
        #expect(queue.idle.count == 2)
        _ = queue.submit(request())
        #expect(queue.lookingCount == 1)
    }

    @Test func aReadThatRunsLongGoesByItselfAndSoDoOthersOfItsText() {
        var queue = queue(Kind.read.limits, idle: 2)
        let requests = (0..<3).map { _ in request() }
        for request in requests { _ = queue.submit(request) }
        guard case .run(let batch, _, _) = next(1, &queue), batch.count == 3 else {
            Issue.record("The reads do not travel together")
            return
        }
        let later = Self.time + queue.limits.heldUpTimeout
        var findings = queue.enforceTimeLimits(at: later) { _ in 0 }
        // Which of them is slow is not known, so the pipeline is ended and each goes by itself.
        #expect(findings.effects.contains(.cancel(1, batch: 1)))
        #expect(findings.slow.isEmpty)
        #expect(requests.allSatisfy { $0.pace == .unproven && $0.copies == 2 })
        guard case .run(let alone, _, _) = next(0, &queue, at: later) else {
            Issue.record("Nothing is taken")
            return
        }
        #expect(alone.count == 1 && alone[0] === requests[0])
        findings = queue.enforceTimeLimits(at: later) { _ in 0 }
        #expect(findings.slow.isEmpty)
        findings = queue.enforceTimeLimits(at: later + queue.limits.heldUpTimeout) { _ in 0 }
        #expect(findings.slow.map(ObjectIdentifier.init) == [ObjectIdentifier(requests[0])])
        #expect(requests.allSatisfy { $0.pace == .slow })
        // Those that are held up are replaced.
        #expect(queue.workerCount - queue.boundedCount >= 2)
    }

    @Test func surplusWorkersEndAfterTheirIdleTime() {
        var queue = queue(Kind.read.limits, idle: 5)
        let start = Self.time
        #expect(effects(&queue, at: start).isEmpty)
        #expect(effects(&queue, at: start + .milliseconds(1999)).isEmpty)
        // A worker that was used meanwhile stays.
        _ = queue.submit(request())
        guard case .run = next(4, &queue) else { return }
        queue.finished(4)
        _ = next(4, &queue)
        #expect(effects(&queue, at: start + .seconds(2)) == [.wake(0), .wake(1), .wake(2)])
        for slot in 0..<3 {
            guard case .stop = next(slot, &queue) else {
                Issue.record("Worker \(slot) goes on")
                continue
            }
            _ = queue.disconnected(slot)
            let mayConnect = queue.mayConnect(slot, isFirst: false)
            #expect(!mayConnect)
            _ = queue.ended(slot)
        }
        #expect(queue.workerCount == 2)
        #expect(effects(&queue, at: start + .seconds(9)).isEmpty)
    }

    @Test func aGroupThatTakesTooLongIsCancelledOnce() {
        var queue = queue(Kind.groupCommit.limits, idle: 1)
        for _ in 0..<3 { _ = queue.submit(request()) }
        _ = next(0, &queue)
        let limit = PostgresConfiguration(connection: "").groupCommitTimeout
        #expect(effects(&queue, at: Self.time + limit / 2).isEmpty)
        #expect(effects(&queue, at: Self.time + limit) == [.cancel(0, batch: 1)])
        #expect(effects(&queue, at: Self.time + limit * 2).isEmpty)
    }

    @Test func aStatementInTwoPlacesGoesAgainWhenTheLastGivesItBack() {
        var queue = queue(Kind.read.limits, idle: 2)
        let statement = request()
        _ = queue.submit(statement)
        guard case .run(let batch, _, _) = next(1, &queue), batch.count == 1 else { return }
        statement.copies = 2
        var result = queue.resubmit([(statement, .connectionLost)])
        #expect(result.refused.isEmpty && queue.isEmpty && statement.copies == 1 && statement.losses == 1)
        result = queue.resubmit([(statement, .conflict)])
        #expect(result.refused.isEmpty && queue.count == 1 && statement.copies == 1)
        #expect(statement.losses == 1 && statement.conflicts == 1)
    }

    @Test func aClosedQueueRefusesWhatComesBack() {
        var queue = queue(Kind.write.limits, idle: 1)
        let statement = request()
        _ = queue.submit(statement)
        _ = next(0, &queue)
        _ = queue.close()
        let (refused, effects) = queue.resubmit([(statement, .unrelated)])
        #expect(refused.count == 1 && refused.first === statement && effects.isEmpty && queue.isEmpty)
    }

    @Test func onlyABatchThatStillRunsIsCancelled() throws {
        var queue = queue(Kind.groupCommit.limits, idle: 1)
        let statements = (0..<3).map { _ in request() }
        for statement in statements { _ = queue.submit(statement) }
        #expect(queue.cancellation(for: .cancel(0, batch: 1)) == nil)
        _ = next(0, &queue)
        #expect(queue.cancellation(for: .wake(0)) == nil)
        let cancellation = try #require(queue.cancellation(for: .cancel(0, batch: 1)))
        #expect(queue.runs(cancellation) && cancellation.work == ObjectIdentifier(statements[0]))
        #expect(queue.batch(of: statements[1], workedOnBy: 0, progress: 1) === statements[0])
        #expect(queue.batch(of: statements[1], workedOnBy: 0, progress: 2) == nil)
        #expect(queue.batch(of: statements[2], workedOnBy: 0, progress: 3) == nil)
        queue.finished(0)
        #expect(!queue.runs(cancellation) && queue.cancellation(for: .cancel(0, batch: 1)) == nil)
        _ = queue.submit(request())
        _ = next(0, &queue)
        #expect(!queue.runs(cancellation))
    }

    @Test func theNextGroupIsMadeOfThoseBeforeTheFailure() {
        var queue = queue(Kind.groupCommit.limits, idle: 1)
        for _ in 0..<6 { _ = queue.submit(request()) }
        guard case .run(let group, _, _) = next(0, &queue), group.count == 4 else { return }
        queue.finished(0)
        queue.groupLimit.groupFailed(at: 2)
        let rest = [group[0], group[1], group[3]]
        for request in rest { _ = request.release() }
        _ = queue.requeue(rest)
        guard case .run(let proven, _, _) = next(0, &queue) else { return }
        #expect(proven.map(ObjectIdentifier.init) == group[..<2].map(ObjectIdentifier.init))
        queue.finished(0)
        guard case .run(let others, _, _) = next(0, &queue) else { return }
        #expect(others.count == 3 && others[0] === group[3])
    }
}
