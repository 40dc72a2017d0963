import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres

/// The values inside the queues, without threads or a server.
@Suite struct QueueValueTests {
    private func request() -> PostgresRequest {
        PostgresRequest(sql: "SELECT 1", groupCommit: .never, queueDeadline: .distantFuture)
    }

    @Test func theWaitBeforeAReconnectDoublesUpToItsLimitAndVaries() {
        var random = SeededGenerator(seed: 7)
        var backoff = ReconnectBackoff()
        var waits: [Duration] = []
        for _ in 0..<100 { waits.append(backoff.next(using: &random)) }
        for (attempt, wait) in waits.enumerated() {
            let limit = min(ReconnectBackoff.first * (1 << min(attempt, 16)), ReconnectBackoff.longest)
            #expect(wait >= limit / 2 && wait <= limit)
        }
        #expect(Set(waits.suffix(50)).count > 40)
        backoff.reset()
        #expect(backoff.next(using: &random) <= ReconnectBackoff.first)
    }

    @Test func onlyTimeMakesGroupsSmaller() {
        var limit = GroupCommitLimit(maximum: 64)
        #expect(limit.next == 64)
        // Those before the failure go first; the rest has not run yet and may be as many as ever.
        limit.groupFailed(at: 7)
        #expect(limit.next == 7)
        limit.groupBegan()
        #expect(limit.next == 64)
        limit.groupFailed(at: 0)
        #expect(limit.next == 64)
        for expected in [32, 16, 8, 4, 2, 1, 1] {
            limit.groupTookTooLong(at: nil)
            #expect(limit.next == expected)
        }
        limit.groupSucceeded(isQuick: false)
        #expect(limit.next == 1)
        // Success of a group of one makes the next larger, too.
        for expected in [2, 4, 8, 16, 32, 64, 64] {
            limit.groupSucceeded(isQuick: true)
            #expect(limit.next == expected)
        }
        limit.groupFailed(at: nil)
        #expect(limit.next == 32)
    }

    @Test func theQueueKeepsItsOrderWhateverIsDoneToIt() {
        var random = SeededGenerator.forTest()
        var queue = RequestQueue()
        var model: [PostgresRequest] = []
        for _ in 0..<5000 {
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<5:
                let new = request()
                queue.append(new)
                model.append(new)
            case 5..<8:
                #expect(queue.pop() === (model.isEmpty ? nil : model.removeFirst()))
            case 8:
                let new = (0..<Int.random(in: 0..<4, using: &random)).map { _ in request() }
                queue.prepend(new)
                model = new + model
            default:
                guard let victim = model.randomElement(using: &random) else { continue }
                let removed = queue.removeAll { $0 === victim }
                #expect(removed.count == 1 && removed.first === victim)
                model.removeAll { $0 === victim }
            }
            #expect(queue.count == model.count)
            #expect(queue.peek() === model.first)
        }
    }

    @Test func cancelledRequestsArePassedOver() async {
        var queue = RequestQueue()
        let cancelled = request()
        let other = request()
        queue.append(cancelled)
        queue.append(other)
        await #expect(throws: CancellationError.self) {
            _ = try await withUnsafeThrowingContinuation { continuation in
                cancelled.continuation = continuation
                #expect(cancelled.begin())
                #expect(!cancelled.cancel())
            }
        }
        #expect(queue.pop() === other)
        #expect(queue.isEmpty)
    }

    @Test func statementsAreFoundByTextAndTypes() {
        var cache = PreparedStatementCache(capacity: 2)
        let number = cache.add("SELECT \(1)").added
        #expect(cache.find("SELECT \(2)") === number)
        #expect(cache.find("SELECT \("x")") == nil)
        let text = cache.add("SELECT \("x")").added
        #expect(cache.find("SELECT \(3)") === number)
        let (third, evicted) = cache.add("SELECT 3")
        #expect(evicted === text)
        #expect(cache.find("SELECT \("y")") == nil)
        #expect(cache.find("SELECT 3") === third)
        #expect(Set([number.name, text.name, third.name]).count == 3)
        // Nor does another connection give any of these names.
        var other = PreparedStatementCache(capacity: 2)
        for statement in [number, text, third] { #expect(other.add("SELECT 1").added.name != statement.name) }
        #expect(third.name.utf8.count <= 16)
        cache.remove(third)
        #expect(cache.find("SELECT 3") == nil)
    }

    @Test func aStatementIsFoundInAnyMemoryAndNotOnceItIsGone() {
        var cache = PreparedStatementCache(capacity: 20)
        let texts = (0..<12).map { SQL(trustedText: "SELECT \($0)") }
        let statements = texts.map { cache.add($0).added }
        for _ in 0..<3 {
            for (text, statement) in zip(texts, statements) {
                #expect(cache.find(text) === statement)
                #expect(cache.find(SQL(trustedText: text.text)) === statement)
            }
        }
        cache.remove(statements[11])
        #expect(cache.find(texts[11]) == nil)
        #expect(cache.find(texts[10]) === statements[10])
    }

    @Test func descriptionsHoldNoValues() {
        for code in PostgresError.Code.allCases {
            let error = PostgresError(
                code: code,
                sqlState: .uniqueViolation,
                table: "note",
                constraint: "note_pkey",
                message: "secret",
                detail: "Key (title)=(secret) already exists.",
                hint: "secret"
            )
            #expect(!error.description.contains("secret"))
            #expect(error.description.contains("note_pkey"))
            #expect(error.debugDescription.contains("Key (title)=(secret)"))
        }
        #expect("\("SELECT \("secret")" as SQL)" == "SELECT $1")
    }
}
