import Foundation
import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Serves one connection after the other on a free port of 127.0.0.1, with answers that are written out byte by byte.
final class LocalServer: Sendable {
    let port: UInt16
    private let socket: CInt
    private let heads: Mutex<[String]>
    private let bodies: Mutex<[[UInt8]]>

    var url: URL { URL(string: "http://127.0.0.1:\(port)/rpc")! }
    /// Request lines and headers, in the order of the connections.
    var receivedHeads: [String] { heads.withLock { $0 } }
    var receivedBodies: [[UInt8]] { bodies.withLock { $0 } }

    /// Raised when connections that are kept open are closed.
    private let closing = DispatchSemaphore(value: 0)
    private let keepsOpen: Bool
    private let departures = Mutex(0)

    /// How many connections the client closed while they were kept open.
    var departed: Int { departures.withLock { $0 } }

    /// - Parameters:
    ///   - responses: what is written back on each connection before it is closed.
    ///   - keepsOpen: whether a connection stays open until the client closes it or ``closeConnection()`` is called.
    init(_ responses: [String], keepsOpen: Bool = false) throws {
        self.keepsOpen = keepsOpen
        heads = Mutex([])
        bodies = Mutex([])
        #if canImport(Glibc)
            let stream = CInt(SOCK_STREAM.rawValue)
        #else
            let stream = SOCK_STREAM
        #endif
        let socket = openSocket(AF_INET, stream)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(socket, address, length) == 0 && listen(socket, 8) == 0
                    && getsockname(socket, address, &length) == 0
            }
        }
        guard bound else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        self.socket = socket
        port = UInt16(bigEndian: address.sin_port)
        Thread.detachNewThread { [self] in
            for response in responses { serve(response) }
            close(socket)
        }
    }

    private func serve(_ response: String) {
        let connection = accept(socket, nil, nil)
        guard connection >= 0 else { return }
        defer { close(connection) }
        var received: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        let blank = Array("\r\n\r\n".utf8)
        while true {
            if let end = received.firstRange(of: blank)?.upperBound {
                let head = String(decoding: received[..<end], as: UTF8.self)
                let lengthLine = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("content-length:") }
                let length =
                    lengthLine.flatMap { Int($0.drop { $0 != ":" }.dropFirst().trimmingCharacters(in: .whitespaces)) }
                    ?? 0
                if received.count >= end + length {
                    heads.withLock { $0.append(head) }
                    bodies.withLock { $0.append(Array(received[end...])) }
                    break
                }
            }
            let count = read(connection, &buffer, buffer.count)
            guard count > 0 else { return }
            received += buffer[..<count]
        }
        var rest = Array(response.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(connection, $0.baseAddress, $0.count) }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
        guard keepsOpen else { return }
        while closing.wait(timeout: .now()) == .timedOut {
            var look = pollfd(fd: connection, events: Int16(POLLIN), revents: 0)
            if poll(&look, 1, 10) > 0, read(connection, &buffer, buffer.count) <= 0 {
                departures.withLock { $0 += 1 }
                return
            }
        }
    }

    /// Closes the connection that is kept open.
    func closeConnection() {
        closing.signal()
    }
}

private func openSocket(_ family: CInt, _ type: CInt) -> CInt {
    socket(family, type, 0)
}
