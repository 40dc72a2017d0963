import Glibc
import Synchronization
import Testing

@testable import SkyrowPostgres

@Suite struct ThreadGroupTests {
    /// Without it, a cancel that reaches a server which has just closed the connection ends the whole process.
    @Test func aBrokenConnectionDoesNotEndTheProcess() async throws {
        let isBlocked = Mutex(false)
        let threads = ThreadGroup()
        try threads.start(named: "test") {
            var signals = sigset_t()
            pthread_sigmask(SIG_BLOCK, nil, &signals)
            isBlocked.withLock { $0 = sigismember(&signals, SIGPIPE) == 1 }
        }
        await threads.wait()
        let isPipeBlocked = isBlocked.withLock { $0 }
        #expect(isPipeBlocked)
    }
}
