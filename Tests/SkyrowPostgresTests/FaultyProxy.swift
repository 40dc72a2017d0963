import Foundation
import SkyrowTestSupport
import Synchronization

/// Stands between a client and a PostgreSQL server, passes bytes on, and breaks connections where a test asks for it.
final class FaultyProxy: Sendable {
    /// Where the next connection that carries something breaks.
    enum Fault: String, CaseIterable, Sendable {
        case requestIsDropped
        case requestIsCut
        case requestArrivesAndNoResponseComes
        case responseIsDropped
        case responseIsCut
    }

    private struct State {
        var fault: Fault?
        var hasHit = false
        /// How many new connections are closed, first at once, then after their first bytes.
        var refusals = 0
        var isSilent = false
        var connections = 0
        var isClosed = false
    }

    let directory: String
    private let serverPath: String
    private let listener: Int32
    private let state = Mutex(State())

    /// - Parameter server: the directory of the server's socket.
    init(server: String) throws {
        directory = try TemporaryDirectory.make(named: "proxy")
        serverPath = "\(server)/.s.PGSQL.5432"
        listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        let bound = Self.withAddress("\(directory)/.s.PGSQL.5432") { bind(listener, $0, $1) }
        guard bound == 0, listen(listener, 64) == 0 else { throw ProxyFailure(description: "The proxy cannot listen") }
        Thread.detachNewThread { [self] in accept() }
    }

    /// Breaks the next connection that carries something, and then two that are opened in its place.
    func arm(_ fault: Fault) {
        state.withLock { ($0.fault, $0.hasHit, $0.refusals) = (fault, false, 2) }
    }

    /// How many connections were made to it.
    var connections: Int { state.withLock(\.connections) }

    /// Whether the fault that was armed last has happened.
    var hasHit: Bool { state.withLock(\.hasHit) }

    /// Passes nothing on any more, in either direction, and answers nothing, as a machine does that has stopped.
    func fallSilent() {
        state.withLock { $0.isSilent = true }
    }

    /// Closes all connections.
    func close() {
        state.withLock { $0.isClosed = true }
        try? FileManager.default.removeItem(atPath: directory)
    }

    private func accept() {
        while !state.withLock(\.isClosed) {
            guard Self.isReadable(listener) else { continue }
            let client = Glibc.accept(listener, nil, nil)
            guard client >= 0 else { continue }
            let refusal = state.withLock { state -> Int? in
                state.connections += 1
                guard state.hasHit, state.refusals > 0 else { return nil }
                defer { state.refusals -= 1 }
                return state.refusals
            }
            if refusal == 2 {
                Glibc.close(client)
            } else {
                Thread.detachNewThread { [self] in pass(client, breaksAtOnce: refusal == 1) }
            }
        }
        Glibc.close(listener)
    }

    private func pass(_ client: Int32, breaksAtOnce: Bool) {
        let server = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer {
            Glibc.close(client)
            Glibc.close(server)
        }
        guard Self.withAddress(serverPath, { connect(server, $0, $1) }) == 0 else { return }
        var closesAfterResponse: Int?
        while true {
            let (isClosed, isSilent) = state.withLock { ($0.isClosed, $0.isSilent) }
            if isClosed { return }
            if isSilent {
                usleep(10_000)
                continue
            }
            var entries = [
                pollfd(fd: client, events: Int16(POLLIN), revents: 0),
                pollfd(fd: server, events: Int16(POLLIN), revents: 0),
            ]
            poll(&entries, 2, 10)
            if entries[0].revents != 0 {
                let bytes = Self.receive(from: client)
                if bytes.isEmpty || breaksAtOnce { return }
                switch takeFault() {
                case nil:
                    guard Self.send(bytes[...], to: server) else { return }
                case .requestIsDropped:
                    return
                case .requestIsCut:
                    _ = Self.send(bytes.prefix(bytes.count / 2), to: server)
                    return
                case .requestArrivesAndNoResponseComes:
                    _ = Self.send(bytes[...], to: server)
                    return
                case .responseIsDropped:
                    guard Self.send(bytes[...], to: server) else { return }
                    closesAfterResponse = 0
                case .responseIsCut:
                    guard Self.send(bytes[...], to: server) else { return }
                    closesAfterResponse = 7
                }
            }
            if entries[1].revents != 0 {
                let bytes = Self.receive(from: server)
                guard !bytes.isEmpty, Self.send(bytes.prefix(closesAfterResponse ?? bytes.count), to: client) else {
                    return
                }
                if closesAfterResponse != nil { return }
            }
        }
    }

    private func takeFault() -> Fault? {
        state.withLock { state in
            guard let fault = state.fault else { return nil }
            state.fault = nil
            state.hasHit = true
            return fault
        }
    }

    private static func isReadable(_ descriptor: Int32) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, 20) > 0
    }

    private static func receive(from descriptor: Int32) -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 16384)
        let count = read(descriptor, &buffer, buffer.count)
        return Array(buffer.prefix(max(0, count)))
    }

    private static func send(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) -> Bool {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    private static func withAddress(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}

struct ProxyFailure: Error, CustomStringConvertible {
    let description: String
}
