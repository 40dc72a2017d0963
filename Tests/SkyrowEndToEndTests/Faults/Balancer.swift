import Foundation
import SkyrowTestSupport

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// HAProxy in front of services, on a port of its own, told at run time where they are.
final class Balancer: Sendable {
    let address: URL
    private let process: ChildProcess
    private let socket: String

    /// Starts it with room for so many services, none of which is there yet.
    init(in folder: String, services: Int) async throws {
        let listener = try FileDescriptor.listening()
        address = URL(string: "http://127.0.0.1:\(listener.port)")!
        socket = folder + "/haproxy.sock"
        let servers = (1...services).map { "    server s\($0) 127.0.0.1:1 disabled" }.joined(separator: "\n")
        let configuration = """
            global
                stats socket \(socket) level admin
            defaults
                mode http
                timeout connect 10m
                timeout client 1h
                timeout server 1h
            frontend skyrow
                bind fd@0
                default_backend services
            backend services
                option httpchk GET /readyz
                # A check must connect within the interval, and by default is answered within it: a busy machine needs longer.
                timeout check 10m
                default-server check inter 2s downinter 50ms fall 1 rise 1
            \(servers)

            """
        let path = folder + "/haproxy.cfg"
        try configuration.write(toFile: path, atomically: false, encoding: .utf8)
        // Debian has it where only root's path leads.
        let program = ["/usr/sbin/haproxy", "/usr/local/sbin/haproxy"].first {
            FileManager.default.isExecutableFile(atPath: $0)
        }
        process = try await Tool.launch([program ?? "haproxy", "-db", "-f", path], input: listener.socket).child
        try await waiting(until: "haproxy listens") {
            if let exit = process.exitIfEnded { throw ServiceFailure(description: "haproxy ended with \(exit)") }
            return try await !command("show info").isEmpty
        }
    }

    /// Puts a service in the place of the one there, and returns when requests can go to it.
    func place(_ service: RunningService, at number: Int) async throws {
        let server = "services/s\(number)"
        _ = try await command("set server \(server) addr 127.0.0.1 port \(service.address.port ?? 0)")
        _ = try await command("enable server \(server)")
        try await waiting(until: "haproxy finds service \(number) ready") { try await isUp(number) }
    }

    /// Whether requests go to a service.
    func isUp(_ number: Int) async throws -> Bool {
        // The second column from `srv_op_state` is 2 for a server that runs (HAProxy's management guide, "show servers state").
        let state = try await command("show servers state services")
        let line = state.split(separator: "\n").first { $0.contains(" s\(number) ") }
        return line?.split(separator: " ").dropFirst(5).first == "2"
    }

    /// Ends all connections of a service, as a network does that is lost.
    func cut(_ number: Int) async throws {
        _ = try await command("shutdown sessions server services/s\(number)")
    }

    func stop() async {
        process.send(signal: SIGKILL)
        _ = await process.ended("haproxy")
    }

    /// Answers the empty text while there is nobody to ask.
    private func command(_ text: String) async throws -> String {
        guard let connection = try? FileDescriptor(connectingTo: socket) else {
            try await Task.sleep(for: .milliseconds(10))
            return ""
        }
        try connection.write((text + "\n").utf8)
        var lines: [String] = []
        for await line in Tool.lines(of: connection) { lines.append(line) }
        return lines.joined(separator: "\n")
    }
}

extension FileDescriptor {
    /// A TCP socket that listens on a free port of this machine.
    static func listening() throws -> (socket: FileDescriptor, port: UInt16) {
        let socket = FileDescriptor(owning: Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket.number, $0, length) + listen(socket.number, 128) + getsockname(socket.number, $0, &length)
            }
        }
        guard status == 0 else { throw ToolError.system("Cannot listen") }
        return (socket, UInt16(bigEndian: address.sin_port))
    }

    /// A connection to a Unix socket.
    fileprivate convenience init(connectingTo path: String) throws {
        let socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        self.init(owning: socket)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard status == 0 else { throw ToolError.system("Cannot connect") }
    }
}
