import Foundation
import NIOCore
import NIOPosix
import SkyrowTestSupport
import Testing

/// Sends a request, waits for `body`, then leaves with a reset instead of an orderly close.
func resetAfterSending(_ request: String, port: Int, _ body: () async throws -> Void) async throws {
    let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
        .connect(host: "127.0.0.1", port: port).get()
    // Closing without lingering drops what is unsent and sends a reset.
    try await #require(channel as? any SocketOptionProvider).setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
    try await channel.writeAndFlush(ByteBuffer(string: request))
    try await body()
    try await channel.close()
}

/// A connection that sends and never reads.
struct StalledReader {
    fileprivate let channel: any Channel

    func send(_ text: String) async throws {
        try await channel.writeAndFlush(ByteBuffer(string: text))
    }

    /// Waits until the server has closed, which shows in a failing write: nothing is read.
    func waitForClose() async throws {
        try await waiting(until: "the server has closed the connection") {
            (try? await channel.writeAndFlush(ByteBuffer(string: "x"))) == nil
        }
    }
}

func withStalledReader(port: Int, _ body: (StalledReader) async throws -> Void) async throws {
    let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
        .channelOption(.autoRead, value: false)
        .channelOption(.socketOption(.so_rcvbuf), value: 16 * 1024)
        .connect(host: "127.0.0.1", port: port).get()
    try await body(StalledReader(channel: channel))
    try? await channel.close()
}
