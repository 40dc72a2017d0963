import Foundation
import SkyrowTestSupport
import Synchronization
import Testing

@testable import SkyrowPostgres

/// What a client does about statements from outside of their connections.
@Suite struct BackendControlTests {
    /// Failed once: the slot of a stream that waited for a writer stayed for as long as the writer, since its cancel had not left when
    /// the client closed.
    @Test func cancelsThatWaitAreSentThoughTheClientCloses() async throws {
        let control = BackendControl(
            configuration: PostgresConfiguration(connection: "host=/nowhere"),
            logger: .silent,
            threads: ThreadGroup()
        )
        let answers = DispatchSemaphore(value: 0)
        let (held, sent) = (SentCancels(), SentCancels())
        // As many as a silent server holds up.
        for _ in 0..<BackendControl.maximumCancelThreads {
            let isTaken = control.send {
                held.add()
                answers.wait()
            }
            #expect(isTaken)
        }
        try await waiting(until: "all threads wait") {
            held.count == BackendControl.maximumCancelThreads
        }
        #expect(control.send { sent.add() })
        control.close()
        #expect(sent.count == 0)
        for _ in 0..<BackendControl.maximumCancelThreads { answers.signal() }
        try await waiting(until: "the last one is sent") { sent.count == 1 }
    }
}

private final class SentCancels: Sendable {
    private let state = Mutex(0)

    var count: Int { state.withLock(\.self) }

    func add() { state.withLock { $0 += 1 } }
}
