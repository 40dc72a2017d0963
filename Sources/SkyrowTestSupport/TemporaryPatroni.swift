import Foundation
import SkyrowRemote

/// A PostgreSQL leader and follower with Patroni and etcd, which promote the follower when the leader is lost.
package struct TemporaryPatroni: Sendable {
    /// Whether commits wait for the follower.
    package enum Replication: String, Sendable, CaseIterable {
        case synchronous
        case asynchronous
    }

    private let ports: [Int]
    private let directory: String
    private let process: pid_t
    private let fetcher: WebFetcher
    private let installation: PostgresInstallation

    /// A libpq connection URI for the server that accepts writes.
    package var url: String {
        "postgresql://postgres@127.0.0.1:\(ports[0]),127.0.0.1:\(ports[1])/postgres?target_session_attrs=read-write"
    }

    /// Kills the leader like a power cut, and returns when the other server has been promoted.
    package func failOver() async throws {
        _ = try await command("kill")
    }

    /// Runs statements with psql on the server that accepts writes. Returns the rows, a line each, with columns
    /// separated by `|`.
    @discardableResult
    package func psql(_ statements: String) async throws -> String {
        let arguments = ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", url, "-f", "-"]
        return try await installation.run("psql", arguments, input: statements)
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private func command(_ name: String) async throws -> String {
        try await fetcher.text(at: "http://127.0.0.1:\(ports[2])/\(name)")
    }

    fileprivate init(_ replication: Replication) async throws {
        fetcher = try WebFetcher(timeout: patience * 2)
        let installation = try await PostgresInstallation.find()
        self.installation = installation
        let directory = try TemporaryDirectory.make(named: "patroni")
        self.directory = directory
        try TemporaryPatroni.script.write(toFile: "\(directory)/start.py", atomically: false, encoding: .utf8)
        try PostgresInstallation.giveAway(directory)
        let command = [
            "/usr/bin/python3", "\(directory)/start.py", directory, replication.rawValue, installation.programs,
        ]
        process = try Program.start(PostgresInstallation.unprivileged(command), log: "\(directory)/output")
        do {
            ports = try await Program.numbers(
                3,
                in: "\(directory)/ports",
                until: "one server follows the other",
                within: patience * 2
            )
        } catch {
            let said = ["output", "etcd.log", "node0.log", "node1.log"].map { name in
                ((try? String(contentsOfFile: "\(directory)/\(name)", encoding: .utf8)) ?? "").suffix(2000)
            }
            TemporaryPatroni.end(process, directory)
            throw TemporaryClusterError(description: "Patroni did not start: \(said.joined(separator: "\n"))")
        }
    }

    fileprivate func stop() async {
        // The process ends without a response.
        _ = try? await command("stop")
        TemporaryPatroni.end(process, directory)
    }

    private static func end(_ process: pid_t, _ directory: String) {
        // The process's servers end with it.
        Program.end(process, with: SIGTERM)
        try? FileManager.default.removeItem(atPath: directory)
    }

    private static let script = """
        import json, os, signal, socket, subprocess, sys, threading, time, urllib.request
        from http.server import BaseHTTPRequestHandler, HTTPServer

        directory, synchronous, binaries = sys.argv[1:]


        def free_ports(count):
            probes = [socket.socket() for _ in range(count)]
            for probe in probes:
                probe.bind(("127.0.0.1", 0))
            ports = [probe.getsockname()[1] for probe in probes]
            for probe in probes:
                probe.close()
            return ports


        client, peer, *ports = free_ports(6)
        etcd_log = open(f"{directory}/etcd.log", "w")
        etcd = subprocess.Popen(
            ["etcd", "--data-dir", f"{directory}/etcd", "--listen-client-urls", f"http://127.0.0.1:{client}",
             "--advertise-client-urls", f"http://127.0.0.1:{client}", "--listen-peer-urls", f"http://127.0.0.1:{peer}",
             "--initial-advertise-peer-urls", f"http://127.0.0.1:{peer}",
             "--initial-cluster", f"default=http://127.0.0.1:{peer}", "--unsafe-no-fsync"],
            stdout=etcd_log, stderr=etcd_log)


        def configuration(number):
            port, rest = ports[2 * number:2 * number + 2]
            user = {"username": "postgres", "password": "p"}
            return {
                "scope": "skyrow", "name": f"node{number}",
                "restapi": {"listen": f"127.0.0.1:{rest}", "connect_address": f"127.0.0.1:{rest}"},
                "etcd3": {"host": f"127.0.0.1:{client}"},
                "bootstrap": {
                    "dcs": {
                        "ttl": 20, "loop_wait": 1, "retry_timeout": 9, "maximum_lag_on_failover": 1048576,
                        "synchronous_mode": synchronous == "synchronous",
                        "postgresql": {
                            "use_pg_rewind": False,
                            "parameters": {
                                "wal_level": "logical", "max_replication_slots": 20, "max_wal_senders": 20, "hot_standby": "on",
                                "fsync": "off", "max_connections": 100, "shared_buffers": "32MB", "timezone": "UTC"}}},
                    "initdb": [{"encoding": "UTF8"}, {"locale": "C.UTF-8"}, "no-sync"],
                    "pg_hba": ["host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"]},
                "postgresql": {
                    "listen": f"127.0.0.1:{port}", "connect_address": f"127.0.0.1:{port}", "data_dir": f"{directory}/node{number}",
                    "bin_dir": binaries, "pgpass": f"{directory}/pgpass{number}",
                    "authentication": {"superuser": user, "replication": {"username": "replicator", "password": "p"}},
                    "parameters": {"unix_socket_directories": directory}}}


        processes = {}


        def launch(number):
            path = f"{directory}/node{number}.yml"
            with open(path, "w") as file:
                json.dump(configuration(number), file)
            log = open(f"{directory}/node{number}.log", "a")
            processes[number] = subprocess.Popen(["patroni", path], stdout=log, stderr=log, start_new_session=True)


        def state(number):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{ports[2 * number + 1]}/patroni", timeout=60) as answer:
                    return json.load(answer)
            except OSError:
                return {}


        def leader():
            for number in processes:
                known = state(number)
                if known.get("role") in ("master", "primary") and known.get("state") == "running":
                    return number
            return None


        def wait(condition, what, limit=600):
            deadline = time.monotonic() + limit
            while not condition():
                if time.monotonic() > deadline:
                    raise TimeoutError(what)
                time.sleep(0.05)


        def kill_server(number):
            try:
                with open(f"{directory}/node{number}/postmaster.pid") as file:
                    postmaster = int(file.readline())
                with open(f"/proc/{postmaster}/task/{postmaster}/children") as file:
                    pids = [postmaster] + [int(pid) for pid in file.read().split()]
            except (OSError, ValueError):
                return
            for pid in pids:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass


        def kill_leader():
            number = leader()
            # Patroni first, or it would start the server again.
            processes.pop(number).kill()
            kill_server(number)
            wait(lambda: leader() is not None, "a new leader")
            return leader()


        def stop():
            for process in processes.values():
                process.kill()
            for number in range(2):
                kill_server(number)
            etcd.kill()
            os._exit(0)


        # The cluster ends even if the tests are killed.
        def watch(parent):
            while os.getppid() == parent:
                time.sleep(0.5)
            stop()


        signal.signal(signal.SIGTERM, lambda *_: stop())
        threading.Thread(target=watch, args=(os.getppid(),), daemon=True).start()


        launch(0)
        wait(lambda: leader() == 0, "the first node leads")
        launch(1)
        wait(lambda: state(1).get("state") == "running" and state(0).get("replication"), "the second node follows")
        if synchronous == "synchronous":
            wait(lambda: any(one.get("sync_state") == "sync" for one in state(0).get("replication", [])), "it is synchronous")


        class Control(BaseHTTPRequestHandler):
            def log_message(self, *arguments):
                pass

            def do_GET(self):
                try:
                    status, body = 200, str({"/kill": kill_leader, "/leader": leader, "/stop": stop}[self.path]())
                except Exception as error:
                    status, body = 500, repr(error)
                    print(body, flush=True)
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body.encode())


        control = HTTPServer(("127.0.0.1", 0), Control)
        with open(f"{directory}/ports.part", "w") as file:
            file.write(f"{ports[0]} {ports[2]} {control.server_port}")
        os.rename(f"{directory}/ports.part", f"{directory}/ports")
        control.serve_forever()
        """
}

/// Runs `body` with a leader and a follower.
///
/// ```swift
/// try await withPatroni(.synchronous) { servers in
///     // A service on servers.url …
///     try await servers.failOver()
/// }
/// ```
package func withPatroni<Success>(
    _ replication: TemporaryPatroni.Replication,
    _ body: (TemporaryPatroni) async throws -> Success
) async throws -> Success {
    let servers = try await TemporaryPatroni(replication)
    do {
        let result = try await body(servers)
        await servers.stop()
        return result
    } catch {
        await servers.stop()
        throw error
    }
}
