import NIOCore
import NIOEmbedded
import SkyrowTestSupport
import Testing

@testable import SkyrowHTTP

/// When connections hear that they are to close, and when all of them are over.
struct AcceptedConnectionsTests {
    /// Notes that its connection was asked to close.
    private final class Requests: ChannelInboundHandler {
        typealias InboundIn = Any

        private(set) var count = 0

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if event is ChannelShouldQuiesceEvent { count += 1 }
        }
    }

    private enum Step {
        case accept
        case drain
        case listenerCloses
    }

    @Test(arguments: [
        ([Step.accept], 0),
        ([.accept, .drain], 1),
        // A client that comes between the two is let in, and is asked to leave like those before it.
        ([.drain, .accept], 1),
        ([.accept, .drain, .listenerCloses], 1),
        // A listener that closes by itself.
        ([.accept, .listenerCloses], 1),
    ])
    private func aConnectionIsAskedOnceToCloseWheneverItWasAccepted(steps: [Step], requests: Int) throws {
        let connections = AcceptedConnections()
        let handler = Requests()
        let channel = EmbeddedChannel(handler: handler)
        for step in steps {
            switch step {
            case .accept: connections.add(channel)
            case .drain: connections.drain()
            case .listenerCloses: connections.listenerClosed()
            }
        }
        channel.embeddedEventLoop.run()
        #expect(handler.count == requests)
        #expect(try channel.finish().isClean)
    }

    @Test func abortClosesWhatIsOpenAndWhatIsStillAdded() {
        let connections = AcceptedConnections()
        let channels = [EmbeddedChannel(), EmbeddedChannel()]
        connections.add(channels[0])
        connections.abort()
        connections.add(channels[1])
        for channel in channels {
            channel.embeddedEventLoop.run()
            #expect(!channel.isActive)
        }
    }

    @Test(.timeLimit(.minutes(20))) func theyAreOverWhenTheListenerAndTheLastOfThemAreClosed() async throws {
        let connections = AcceptedConnections()
        let (first, second) = (NIOAsyncTestingChannel(), NIOAsyncTestingChannel())
        connections.add(first)
        connections.add(second)
        _ = try await first.finish()
        connections.listenerClosed()
        #expect(!connections.isOver)
        async let end: Void = connections.ended()
        _ = try await second.finish()
        await end
        #expect(connections.isOver)
    }
}
