import Foundation
import SkyrowTestSupport
import Synchronization

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// Forwards connections to a service, and closes some of them after a number of bytes from the service.
final class CuttingProxy: Sendable {
    private struct State {
        var cuts: [Int] = []
        var received = ""
    }

    let address: URL
    private let listener: FileDescriptor
    private let target: UInt16
    private let state = Mutex(State())

    init(to service: RunningService) throws {
        let (socket, port) = try FileDescriptor.listening()
        guard let target = service.address.port.flatMap({ UInt16(exactly: $0) }),
            let address = URL(string: "http://127.0.0.1:\(port)")
        else { throw ServiceFailure(description: "\(service.address) has no port") }
        (listener, self.target, self.address) = (socket, target, address)
        Thread.detachNewThread { [self] in
            while true {
                let client = accept(listener.number, nil, nil)
                guard client >= 0 else { return }
                serve(FileDescriptor(owning: client))
            }
        }
    }

    /// Cuts the next connections, each after one of these numbers of bytes; later ones are not cut.
    func cut(after bytes: Int...) {
        state.withLock { $0.cuts = bytes }
    }

    /// What clients have sent.
    var received: String { state.withLock(\.received) }

    /// Ends when the test does.
    func close() {
        listener.shutDown()
    }

    private func serve(_ client: FileDescriptor) {
        guard let service = try? FileDescriptor(connectingTo: target) else { return }
        let limit = state.withLock { $0.cuts.isEmpty ? Int.max : $0.cuts.removeFirst() }
        Thread.detachNewThread { [self] in
            while let part = try? client.read(upTo: 65_536), !part.isEmpty {
                state.withLock { $0.received += String(decoding: part, as: UTF8.self) }
                guard service.send(part) else { break }
            }
            service.shutDown()
        }
        Thread.detachNewThread {
            var left = limit
            while left > 0, let part = try? service.read(upTo: min(left, 65_536)), !part.isEmpty, client.send(part) {
                left -= part.count
            }
            client.shutDown()
            service.shutDown()
        }
    }
}
