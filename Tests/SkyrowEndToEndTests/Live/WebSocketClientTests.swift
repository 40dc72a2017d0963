import Foundation
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// WebSockets of others' making: the one of a browser, and Python's, with proxies between.
@Suite(.timeLimit(.minutes(60))) struct WebSocketClientTests {
    /// Makes calls of every kind over one WebSocket and prints what came of them.
    private static let script = #"""
        import asyncio, json, sys
        import websockets

        uri, key, path = sys.argv[1:4]

        def connect(**options):
            # By default it gives up after ten and twenty seconds.
            options.update(max_size=None, open_timeout=None, ping_timeout=None, close_timeout=600)
            return websockets.unix_connect(path, uri, **options) if path else websockets.connect(uri, **options)

        async def call(socket, number, method, **params):
            await socket.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}))

        async def main():
            async with connect(extra_headers={"X-Skygear-API-Key": key}, subprotocols=["jsonrpc"]) as socket:
                assert socket.subprotocol == "jsonrpc", socket.subprotocol
                # Many at once, then one that is long, then one in fragments.
                for number in range(200):
                    await call(socket, number, "record:fetch", ids=["note/none"])
                answers = [json.loads(await socket.recv()) for _ in range(200)]
                assert sorted(a["id"] for a in answers) == list(range(200))
                long = ["eq", {"$type": "keypath", "$val": "_id"}, "é" * 1_000_000]
                await call(socket, 200, "record:query", record_type="user", predicate=long)
                assert json.loads(await socket.recv())["result"]["records"] == []
                async def parts():
                    for part in ('{"jsonrpc":"2.0",', '"id":201,', '"method":"rpc.discover"}'):
                        yield part
                await socket.send(parts())
                assert json.loads(await socket.recv())["result"]["openrpc"]
                await asyncio.wait_for(await socket.ping(), 600)
            # By the first call, as a browser does it.
            async with connect() as socket:
                await call(socket, 1, "connection:authenticate", api_key=key)
                assert json.loads(await socket.recv())["result"]["status"] == "OK"
            async with connect(extra_headers={"X-Skygear-API-Key": key}) as socket:
                await socket.send(b"binary")
                try:
                    await socket.recv()
                except websockets.ConnectionClosed as end:
                    assert end.rcvd.code == 1003, end
            try:
                async with connect(extra_headers={"X-Skygear-API-Key": "wrong"}) as socket:
                    assert False, "a wrong key opens a WebSocket"
            except websockets.InvalidStatusCode as refusal:
                assert refusal.status_code == 401, refusal
            print("done")

        asyncio.run(main())
        """#

    private func expectCalls(_ service: RunningService, at address: URL, through path: String = "") async throws {
        let uri = "ws://127.0.0.1:\(address.port ?? 80)/rpc"
        let result = try await Tool.run(
            words: ["/usr/bin/python3", "-", uri, try service.key("SKYROW_API_KEY"), path],
            input: Self.script
        )
        #expect(result.output == "done", "\(result.errors)")
    }

    @Test func pythonsClientMakesItsCalls() async throws {
        try await withService { service in try await expectCalls(service, at: service.address) }
    }

    @Test func itDoesSoThroughHAProxy() async throws {
        let folder = try TemporaryDirectory()
        try await withService { service in
            let balancer = try await Balancer(in: folder.path, services: 1)
            do {
                try await balancer.place(service, at: 1)
                try await expectCalls(service, at: balancer.address)
            } catch {
                await balancer.stop()
                throw error
            }
            await balancer.stop()
        }
    }

    @Test func itDoesSoThroughNginx() async throws {
        let folder = try TemporaryDirectory()
        try await withService { service in
            try await withNginx(in: folder.path, before: service) { socket in
                try await expectCalls(service, at: service.address, through: socket)
            }
        }
    }

    @Test func aBrowserAuthenticatesAndCalls() async throws {
        try await withService { service in
            let key = try service.key("SKYROW_API_KEY")
            let script = """
                const [port, key, done] = arguments;
                const socket = new WebSocket(`ws://127.0.0.1:${port}/rpc`);
                const said = [];
                socket.onopen = () => {
                    for (const [id, method, params] of [
                        [1, "connection:authenticate", {api_key: key}], [2, "record:fetch", {ids: ["note/none"]}],
                    ]) socket.send(JSON.stringify({jsonrpc: "2.0", id, method, params}));
                };
                socket.onmessage = event => {
                    said.push(JSON.parse(event.data));
                    if (said.length === 2) socket.close(1000);
                };
                socket.onclose = event => done(JSON.stringify([said.map(m => m.result), event.code, event.wasClean]));
                """
            try await Browser.withBrowser(Browser.Options()) { browser in
                // Chromium lets pages of this machine alone connect to it.
                try await browser.open(service.address.appendingPathComponent("healthz"))
                let text = try await browser.run(script, [service.address.port ?? 0, key])
                let said = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [Any])
                #expect(said[1] as? Int == 1000)
                #expect(said[2] as? Bool == true)
                let results = try #require(said[0] as? [Any])
                try #require(results.count == 2)
                #expect((results[0] as? [String: Any])?["status"] as? String == "OK")
                #expect((results[1] as? [[String: Any]])?.first?["code"] as? Int == 110)
            }
        }
    }

    @Test func aRestartSaysWhenToComeBack() async throws {
        try await withService { service in
            let script = #"""
                import asyncio, json, sys, websockets
                async def main():
                    headers = {"X-Skygear-API-Key": sys.argv[2]}
                    # By default it gives up after ten and twenty seconds.
                    times = {"open_timeout": None, "ping_timeout": None, "close_timeout": 600}
                    async with websockets.connect(sys.argv[1], extra_headers=headers, **times) as socket:
                        print("open", flush=True)
                        try:
                            await socket.recv()
                        except websockets.ConnectionClosed as end:
                            print(end.rcvd.code, 0 < json.loads(end.rcvd.reason)["retry_after"] <= 10)
                asyncio.run(main())
                """#
            let uri = "ws://127.0.0.1:\(service.address.port ?? 80)/rpc"
            let (client, output, _) = try await Tool.launch(
                ["/usr/bin/python3", "-c", script, uri, try service.key("SKYROW_API_KEY")]
            )
            let lines = Tool.lines(of: output)
            _ = try await lines.line("the client to connect") { $0 == "open" }
            service.process.send(signal: SIGTERM)
            let end = try await lines.line("the close frame") { !$0.isEmpty }
            #expect(end == "1012 True")
            _ = await client.ended("the client")
        }
    }
}
