import Foundation

/// A function server on the loopback interface or a socket file, whose path says how it misbehaves.
///
/// | Path | Answer |
/// |---|---|
/// | `/echo` | the body of the call |
/// | `/fields` | the header fields of the call |
/// | `/http10` | the body, by HTTP/1.0 |
/// | `/error` | the body, with the status 500 |
/// | `/large` | a gigabyte |
/// | `/bytes` | a byte each hundredth of a second, without end |
/// | `/hang` | none |
/// | `/close` | none; the connection ends |
/// | `/second` | none to the second call of a connection, which ends |
/// | `/half` | half of the body |
/// | `/garbage` | what is not HTTP |
/// | `/redirect` | 302 to `/echo` |
package struct TemporaryFunctionServer: Sendable {
    /// `http://127.0.0.1:…` or `http+unix://…`
    package let address: String
    private let directory: String
    private let process: pid_t

    fileprivate init(onSocket isOnSocket: Bool) async throws {
        let directory = try TemporaryDirectory.make(named: "functions", in: "/tmp")
        self.directory = directory
        try Self.script.write(toFile: "\(directory)/server.py", atomically: false, encoding: .utf8)
        process = try Program.start(
            ["/usr/bin/python3", "\(directory)/server.py", directory, isOnSocket ? "socket" : "port"],
            log: "\(directory)/log"
        )
        do {
            let port = try await Program.numbers(1, in: "\(directory)/port", until: "the function server listens")[0]
            address =
                isOnSocket
                ? "http+unix://" + "\(directory)/socket".replacing("/", with: "%2F") : "http://127.0.0.1:\(port)"
        } catch {
            let said = (try? String(contentsOfFile: "\(directory)/log", encoding: .utf8)) ?? ""
            Self.stop(process, directory)
            throw TemporaryClusterError(description: "The function server did not start: \(said)")
        }
    }

    /// The calls so far, such as `/echo {}`, and the ends of connections before an answer, such as `/hang closed`.
    package func log() throws -> [String] {
        let text = (try? String(contentsOfFile: "\(directory)/calls", encoding: .utf8)) ?? ""
        return text.split(separator: "\n").map(String.init)
    }

    fileprivate func stop() {
        Self.stop(process, directory)
    }

    private static func stop(_ process: pid_t, _ directory: String) {
        Program.end(process)
        try? FileManager.default.removeItem(atPath: directory)
    }

    private static let script = #"""
        import json
        import os
        import socket
        import sys
        import threading
        import time

        directory, kind = sys.argv[1:]
        lock = threading.Lock()


        def note(line):
            with lock, open(f"{directory}/calls", "a") as file:
                file.write(line + "\n")


        def request(connection, rest):
            while b"\r\n\r\n" not in rest:
                part = connection.recv(65536)
                if not part:
                    return None
                rest += part
            head, rest = rest.split(b"\r\n\r\n", 1)
            lines = head.decode().split("\r\n")
            fields = {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in lines[1:])}
            length = int(fields.get("content-length", "0"))
            while len(rest) < length:
                rest += connection.recv(65536)
            return lines[0].split(" ")[1], fields, rest[:length], rest[length:]


        def answered(body, status="200 OK", version="1.1", more=""):
            return f"HTTP/{version} {status}\r\nContent-Length: {len(body)}\r\n{more}\r\n".encode() + body


        def wait_for_end(connection, path):
            if not connection.recv(1):
                note(f"{path} closed")


        def serve(connection):
            calls = 0
            rest = b""
            try:
                while True:
                    found = request(connection, rest)
                    if found is None:
                        return
                    path, fields, body, rest = found
                    calls += 1
                    note(f"{path} {body.decode()}" if len(body) < 1000 else path)
                    if path == "/fields":
                        connection.sendall(answered(json.dumps(fields).encode()))
                    elif path == "/http10":
                        connection.sendall(answered(body, version="1.0"))
                        return
                    elif path == "/error":
                        connection.sendall(answered(body, "500 Internal Server Error"))
                    elif path == "/large":
                        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n")
                        for _ in range(1024):
                            connection.sendall(b" " * (1 << 20))
                    elif path == "/bytes":
                        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                        while True:
                            connection.sendall(b" ")
                            time.sleep(0.01)
                    elif path == "/hang":
                        return wait_for_end(connection, path)
                    elif path == "/close" or path == "/second" and calls == 2:
                        return
                    elif path == "/half":
                        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
                        return
                    elif path == "/garbage":
                        connection.sendall(b"garbage\r\n\r\n")
                        return
                    elif path == "/redirect":
                        connection.sendall(answered(b"elsewhere", "302 Found", more="Location: /echo\r\n"))
                    else:
                        connection.sendall(answered(body))
            except (BrokenPipeError, ConnectionResetError):
                note("broken")
            finally:
                connection.close()


        if kind == "socket":
            server = socket.socket(socket.AF_UNIX)
            server.bind(f"{directory}/socket")
            port = 0
        else:
            server = socket.socket()
            server.bind(("127.0.0.1", 0))
            port = server.getsockname()[1]
        server.listen(64)
        with open(f"{directory}/port.part", "w") as file:
            file.write(str(port))
        os.rename(f"{directory}/port.part", f"{directory}/port")
        while True:
            connection, _ = server.accept()
            threading.Thread(target=serve, args=(connection,), daemon=True).start()
        """#
}

/// Runs `body` with a function server.
///
/// - Parameter isOnSocket: Whether it listens on a socket file instead of a port.
package func withFunctionServer<Success>(
    onSocket isOnSocket: Bool = false,
    _ body: (TemporaryFunctionServer) async throws -> Success
) async throws -> Success {
    let server = try await TemporaryFunctionServer(onSocket: isOnSocket)
    defer { server.stop() }
    return try await body(server)
}
