import SkyrowConcurrency
import Testing

@testable import SkyrowHTTP

/// When a task that waits for room in a connection goes on.
@Suite(.timeLimit(.minutes(20))) struct OutletRoomTests {
    /// Has a task wait for room; returns once it waits.
    private func waiting(for room: OutletRoom) async -> Task<Void, Never> {
        let begun = Deferred<Void>()
        let task = Task {
            await room.wait {
                begun.settle()
                try await Task.sleep(for: .seconds(3600))
            }
        }
        await begun.value()
        return task
    }

    @Test(
        arguments: [
            (
                "the last message is sent",
                { @Sendable room in
                    room.hold(400)
                    room.taken(400)
                    room.hold(0)
                }
            ),
            // Failed once: nothing woke the task when the event loop dropped the last message of a connection that fell behind.
            ("the last message is dropped", { @Sendable room in room.taken(400) }),
            // Another thread's message does not fit while the event loop takes the last one before it.
            ("a message does not fit", { @Sendable room in #expect(!room.enter(900)) }),
            ("the connection ends", { @Sendable room in room.end() }),
        ] as [(String, @Sendable (OutletRoom) -> Void)]
    )
    func aTaskGoesOnWhen(_ name: String, _ event: @Sendable (OutletRoom) -> Void) async {
        let room = OutletRoom(limit: 1000)
        #expect(room.enter(400))
        let task = await waiting(for: room)
        event(room)
        await task.value
    }

    @Test func anEmptyConnectionHasRoom() async {
        let room = OutletRoom(limit: 1000)
        // A single message may be of any length.
        #expect(room.enter(5000) && !room.enter(1))
        room.hold(5000)
        room.taken(5000)
        room.hold(0)
        await room.wait { Issue.record("It waits.") }
    }
}
