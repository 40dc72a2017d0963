import Foundation
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// Event streams of live queries with clients of others' making: curl, and `EventSource` of a browser, with proxies between.
@Suite(.timeLimit(.minutes(60))) struct LiveStreamClientTests {
    /// What curl needs to get at a service.
    private struct Way {
        var address: URL
        var socket: String?
    }

    private func stream(
        _ way: Way,
        of service: RunningService,
        resuming former: CurlStream? = nil
    ) async throws -> CurlStream {
        try await CurlStream(
            way.address.absoluteString + "/live?record_type=note" + (former == nil ? "&initial=true" : ""),
            socket: way.socket,
            key: try service.key("SKYROW_API_KEY"),
            resuming: former
        )
    }

    /// Follows a query, loses its connection, and resumes.
    private func expectStream(_ way: Way, of service: RunningService) async throws {
        try await service.save("note/1", content: "one")
        let first = try await stream(way, of: service)
        try await first.waits(for: ["note/1": "one"])
        try await service.save("note/2", content: "two")
        try await service.save("note/1", content: "uno")
        try await first.waits(for: ["note/1": "uno", "note/2": "two"])
        _ = try await service.call("record:delete", #"{"ids":["note/1"]}"#)
        try await first.waits(for: ["note/2": "two"])
        #expect(first.phases == ["initial", "live"])
        await first.end()

        try await service.save("note/3", content: "three")
        _ = try await service.call("record:delete", #"{"ids":["note/2"]}"#)
        let second = try await stream(way, of: service, resuming: first)
        try await second.waits(for: ["note/3": "three"])
        try await service.save("note/4", content: "four")
        try await second.waits(for: ["note/3": "three", "note/4": "four"])
        #expect(second.phases == ["resume", "live"])
        #expect(first.resets == [] && second.resets == [])
        await second.end()
    }

    @Test func curlFollowsAndResumes() async throws {
        try await withService { service in
            try await expectStream(Way(address: service.address), of: service)
        }
    }

    @Test func itDoesSoThroughHAProxy() async throws {
        let folder = try TemporaryDirectory()
        try await withService { service in
            let balancer = try await Balancer(in: folder.path, services: 1)
            do {
                try await balancer.place(service, at: 1)
                try await expectStream(Way(address: balancer.address), of: service)
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
                try await expectStream(Way(address: service.address, socket: socket), of: service)
            }
        }
    }

    /// It holds up neither writers nor other clients, and gets what it missed when it goes on.
    @Test func aClientThatStandsStillCatchesUp() async throws {
        try await withService { service in
            try await service.save("note/first", content: "x")
            let still = try await stream(Way(address: service.address), of: service)
            let other = try await stream(Way(address: service.address), of: service)
            for client in [still, other] { try await client.waits(for: ["note/first": "x"]) }
            still.send(signal: SIGSTOP)
            // More than all the buffers between them hold.
            let long = String(repeating: "x", count: 400_000)
            for number in 0..<40 { try await service.save("note/\(number % 10)", content: "\(number)-\(long)") }
            _ = try await service.call("record:delete", #"{"ids":["note/first"]}"#)
            let expected = Dictionary(uniqueKeysWithValues: (30..<40).map { ("note/\($0 % 10)", "\($0)-\(long)") })
            // The service sends these later than it saves them.
            let master = ["Authorization": "Bearer \(try service.key("SKYROW_MASTER_KEY"))"]
            try await waiting(until: "the service drops what the client does not read") {
                let metrics = try ScrapedMetrics(try await service.get("metrics", headers: master).0)
                return metrics.values["skyrow_live_lagging_total", default: 0] > 0
            }
            #expect(still.held == ["note/first": "x"])
            still.send(signal: SIGCONT)
            try await other.waits(for: expected)
            try await still.waits(for: expected)
            #expect(still.phases == ["initial", "live", "resume"])
            #expect(still.resets == [] && other.resets == [])
            // It goes on as the other does.
            try await service.save("note/last", content: "y")
            for client in [still, other] {
                try await client.waits(for: expected.merging(["note/last": "y"]) { $1 })
                await client.end()
            }
        }
    }

    /// A process has no state to lose: its clients go on from their last ids at the one that comes after it.
    @Test func aProcessThatIsKilledLosesNothing() async throws {
        let folder = try TemporaryDirectory()
        let first = try await RunningService.start(in: folder.path + "/data")
        let load = Load()
        async let running: Void = load.run(on: first)
        try await load.awaitProgress(20)
        let former = try await stream(Way(address: first.address), of: first)
        try await waiting(until: "the stream has a token") { former.hasToken }
        try await load.awaitProgress(20)
        first.process.send(signal: SIGKILL)
        _ = await first.process.ended()
        await running
        await former.end()
        let second = try await RunningService.start(in: folder.path + "/data")
        do {
            // One that the former stream cannot have had.
            try await second.save("note/after", content: "")
            let next = try await stream(Way(address: second.address), of: second, resuming: former)
            let ids = Set(try await second.psql("SELECT _id FROM note").split(separator: "\n").map(String.init))
            #expect(load.acknowledged.subtracting(ids) == [])
            try await next.waits(for: Dictionary(uniqueKeysWithValues: ids.map { ("note/\($0)", "") }))
            // What the second process has not read of the log yet may come after the answer to the token.
            #expect(next.phases.first == "resume" && !next.phases.contains("initial"), "\(next.phases)")
            #expect(next.resets == [])
            await next.end()
        } catch {
            _ = await second.terminate()
            throw error
        }
        #expect(await second.terminate() == .exited(0))
    }

    @Test func eventSourceFollowsAndResumes() async throws {
        try await withService { service in
            let signup = try await service.call(
                "auth:signup",
                #"{"auth_data":{"username":"ann"},"password":"correct horse"}"#
            )
            let user = try #require(try JSONSerialization.jsonObject(with: Data(signup.utf8)) as? [String: Any])
            let token = try #require(user["access_token"] as? String)
            // A token opens one stream, so a page that closes it asks for another and says from where it goes on.
            let script = """
                const [token, done] = arguments;
                const call = async (method, params = {}) => {
                    const answer = await fetch("/rpc", {
                        method: "POST",
                        headers: {"Content-Type": "application/json", "Authorization": `Bearer ${token}`},
                        body: JSON.stringify({jsonrpc: "2.0", id: 1, method, params}),
                    });
                    const said = await answer.json();
                    if (said.error) throw new Error(JSON.stringify(said.error));
                    return said.result;
                };
                const save = (id, content) => call("record:save", {records: [{_id: id, content}]});
                const held = {}, log = [];
                let last = null;
                const open = async query => {
                    const ticket = await call("live:ticket");
                    const token = encodeURIComponent(ticket.token);
                    const source = new EventSource(`/live?record_type=note${query}&live-query-token=${token}`);
                    let isReady = null;
                    source.ready = new Promise(resolve => isReady = resolve);
                    source.addEventListener("live:changes", event => {
                        const said = JSON.parse(event.data);
                        for (const change of said.changes) {
                            log.push(`${said.phase} ${change.event}`);
                            if (change.record) held[change.record._id] = change.record.content;
                            else delete held[change.id];
                        }
                    });
                    source.addEventListener("live:checkpoint", event => {
                        last = event.lastEventId;
                        if (JSON.parse(event.data).ready) isReady();
                    });
                    source.addEventListener("live:reset", event => log.push(`reset ${event.data}`));
                    return source;
                };
                const until = async condition => {
                    while (!condition()) await new Promise(resolve => setTimeout(resolve, 5));
                };
                (async () => {
                    await save("note/1", "one");
                    const first = await open("&initial=true");
                    await first.ready;
                    await save("note/2", "two");
                    await until(() => held["note/2"] === "two");
                    first.close();
                    await call("record:delete", {ids: ["note/1"]});
                    await save("note/3", "three");
                    const second = await open(`&since=${encodeURIComponent(last)}`);
                    await second.ready;
                    await save("note/3", "drei");
                    await until(() => held["note/3"] === "drei");
                    second.close();
                    done(JSON.stringify([held, log]));
                })().catch(error => done(JSON.stringify([{}, [String(error)]])));
                """
            try await Browser.withBrowser(Browser.Options()) { browser in
                try await browser.open(service.address.appendingPathComponent("healthz"))
                let text = try await browser.run(script, [token])
                let said = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [Any])
                #expect(said[0] as? [String: String] == ["note/2": "two", "note/3": "drei"], "\(text)")
                let log = try #require(said[1] as? [String])
                // The checkpoint may be older than the record that came last.
                let expected = [
                    "initial changed", "live created", "resume removed", "resume changed", "live updated",
                ]
                var distinct: [String] = []
                for line in log where !distinct.contains(line) { distinct.append(line) }
                #expect(distinct == expected, "\(log)")
            }
        }
    }

    /// The connection is cut twice, and the page does nothing about it: `EventSource` comes back by itself, with the ticket that
    /// is in its address and the id of the last event.
    @Test(arguments: [true, false])
    func eventSourceComesBackByItself(hasUser: Bool) async throws {
        let folder = try TemporaryDirectory()
        try await withService { service in
            let balancer = try await Balancer(in: folder.path, services: 1)
            do {
                try await balancer.place(service, at: 1)
                try await expectEventSource(through: balancer, of: service, hasUser: hasUser)
            } catch {
                await balancer.stop()
                throw error
            }
            await balancer.stop()
        }
    }

    private func expectEventSource(through balancer: Balancer, of service: RunningService, hasUser: Bool) async throws {
        var credentials = ["X-Skygear-API-Key": try service.key("SKYROW_API_KEY")]
        if hasUser {
            let signup = try await service.call(
                "auth:signup",
                #"{"auth_data":{"username":"ann"},"password":"correct horse"}"#
            )
            let user = try #require(try JSONSerialization.jsonObject(with: Data(signup.utf8)) as? [String: Any])
            credentials = ["Authorization": "Bearer \(try #require(user["access_token"] as? String))"]
        }
        let headers = String(decoding: try JSONSerialization.data(withJSONObject: credentials), as: UTF8.self)
        try await service.save("note/1", content: "one")
        // The page shows what it holds in its title.
        let script = """
            const [headers, done] = arguments;
            (async () => {
                const answer = await fetch("/rpc", {
                    method: "POST",
                    headers: {"Content-Type": "application/json", ...JSON.parse(headers)},
                    body: JSON.stringify({jsonrpc: "2.0", id: 1, method: "live:ticket"}),
                });
                const token = encodeURIComponent((await answer.json()).result.token);
                const source = new EventSource(`/live?record_type=note&initial=true&live-query-token=${token}`);
                const held = {};
                let opened = 0;
                source.onopen = () => opened += 1;
                source.addEventListener("live:changes", event => {
                    for (const change of JSON.parse(event.data).changes) {
                        if (change.record) held[change.record._id] = change.record.content;
                        else delete held[change.id];
                    }
                    const texts = Object.keys(held).sort().map(id => `${id}=${held[id]}`);
                    document.title = `${opened} ${texts.join(" ")}`;
                });
                done("");
            })().catch(error => done(String(error)));
            """
        try await Browser.withBrowser(Browser.Options()) { browser in
            func waits(for title: String) async throws {
                try await waiting(until: "the page shows \(title)") {
                    try await browser.title() == title
                }
            }
            try await browser.open(balancer.address.appendingPathComponent("healthz"))
            #expect(try await browser.run(script, [headers]) == "")
            try await waits(for: "1 note/1=one")
            try await balancer.cut(1)
            try await service.save("note/2", content: "two")
            try await waits(for: "2 note/1=one note/2=two")
            try await balancer.cut(1)
            _ = try await service.call("record:delete", #"{"ids":["note/1"]}"#)
            try await waits(for: "3 note/2=two")
        }
    }
}
