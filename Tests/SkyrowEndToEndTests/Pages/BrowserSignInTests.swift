import Foundation
import SkyrowTestSupport
import Testing

@testable import SkyrowSystem

/// A web application whose users sign in with a provider that others have written, all of it in a browser: Glewlwyd's own pages,
/// the address that it sends users back to, and a page of the application on loopback.
@Suite(.timeLimit(.minutes(60))) struct BrowserSignInTests {
    private struct Site {
        let service: RunningService
        /// The application's page.
        let page: String
        let issuer: String

        var callback: String { service.address.absoluteString + "/auth/callback/glewlwyd" }
    }

    /// What an application does by the manual: PKCE and a state of its own, then a call with the code, then one as the user.
    private static func script(_ service: String, key: String, page: String) -> String {
        """
        <!doctype html>
        <html lang="en"><head><meta charset="utf-8"><title>Notes</title></head>
        <body><p role="status"></p><script>
        const say = text => { document.querySelector("[role=status]").textContent = text }
        const url64 = bytes => btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")
        const draw = () => url64(crypto.getRandomValues(new Uint8Array(32)))
        async function call(method, params, credentials) {
            const response = await fetch("\(service)/rpc", {
                method: "POST", headers: { "Content-Type": "application/json", ...credentials },
                body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
            })
            const { result, error } = await response.json()
            if (error) throw new Error(error.code + " " + error.message)
            return result
        }
        const key = { "X-Skygear-API-Key": "\(key)" }
        async function run() {
            const fields = new URLSearchParams(location.search)
            if (fields.get("error")) {
                say(fields.get("state") === sessionStorage.state ? "Not signed in: " + fields.get("error") : "Not mine.")
            } else if (fields.get("code")) {
                if (fields.get("state") !== sessionStorage.state) return say("Not mine.")
                const user = await call(
                    "auth:provider:finish", { code: fields.get("code"), code_verifier: sessionStorage.verifier }, key)
                const note = { _id: "note/" + draw().replaceAll(/[-_]/g, ""), content: "from the browser" }
                await call("record:save", { records: [note] }, { Authorization: "Bearer " + user.access_token })
                say("Saved by " + user.user_id + (user.is_new ? ", who is new" : ""))
            } else {
                sessionStorage.verifier = draw()
                sessionStorage.state = draw()
                const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(sessionStorage.verifier))
                const { url } = await call("auth:provider:start", {
                    provider: "glewlwyd", redirect: "\(page)", code_challenge: url64(new Uint8Array(digest)),
                    state: sessionStorage.state,
                }, key)
                location.href = url
            }
        }
        run().catch(error => say("Failed: " + error.message))
        </script></body></html>
        """
    }

    /// Serves a directory, and draws a port that is free for another server.
    private static let server = """
        import functools, http.server, socket, sys
        # No one reads what it would say of each request.
        class Pages(http.server.SimpleHTTPRequestHandler):
            def log_message(self, *arguments):
                pass
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            handler = functools.partial(Pages, directory=sys.argv[1])
            pages = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
            ports = pages.server_port, free.getsockname()[1]
        print(*ports, flush=True)
        pages.serve_forever()
        """

    private func withSite(_ body: (Site) async throws -> Void) async throws {
        let folder = try TemporaryDirectory()
        let pages = folder.path + "/pages"
        try FileManager.default.createDirectory(atPath: pages, withIntermediateDirectories: true)
        let (server, output, _) = try await Tool.launch(["python3", "-c", Self.server, pages])
        func end() async {
            server.send(signal: SIGKILL)
            _ = await server.ended("the server of the page")
        }
        do {
            let line = try await Tool.lines(of: output).line("the ports") { _ in true }
            let ports = line.split(separator: " ").compactMap { Int($0) }
            try #require(ports.count == 2)
            let (page, address) = ("http://127.0.0.1:\(ports[0])/in.html", "http://127.0.0.1:\(ports[1])")
            try await withGlewlwyd(redirect: address + "/auth/callback/glewlwyd") { provider in
                let id = TemporaryGlewlwyd.clientID
                let service = try await RunningService.start(
                    in: folder.path + "/data",
                    arguments: [
                        "--development", "--port", "\(ports[1])", "--public-url", address, "--providers",
                        "glewlwyd issuer=\(provider.issuer) client-ids=\(id) redirects=http://127.0.0.1/in.html",
                    ],
                    environment: ["SKYROW_PROVIDER_SECRETS": "glewlwyd=\(TemporaryGlewlwyd.clientSecret)"]
                )
                do {
                    let text = Self.script(address, key: try service.key("SKYROW_API_KEY"), page: page)
                    try text.write(toFile: pages + "/in.html", atomically: true, encoding: .utf8)
                    try await body(Site(service: service, page: page, issuer: provider.issuer))
                } catch {
                    _ = await service.terminate()
                    throw error
                }
                _ = await service.terminate()
            }
        } catch {
            await end()
            throw error
        }
        await end()
    }

    /// Waits until the provider's page has a heading; it changes without being left.
    private func wait(for heading: String, _ browser: Browser) async throws {
        try await waiting(until: "the heading is \(heading)") {
            let text = try? await browser.text(of: ".card-body h3")
            return text == heading
        }
    }

    /// What the page says in the end.
    private func outcome(_ browser: Browser) async throws -> String {
        var text = ""
        try await waiting(until: "the page says something") {
            text = (try? await browser.text(of: "[role=status]")) ?? ""
            return !text.isEmpty
        }
        return text
    }

    @Test func aUserSignsInAgreesAndSavesAndMayRefuse() async throws {
        try await withSite { site in
            let page = try #require(URL(string: site.page))
            try await Browser.withBrowser(Browser.Options(width: 1024)) { browser in
                // The application sends the browser to the provider, whose page asks who the user is.
                try await browser.open(page)
                try await browser.enter(TemporaryGlewlwyd.userName, into: "#username")
                try await browser.enter(TemporaryGlewlwyd.password, into: "#password")
                try await browser.click("#loginbut")
                // It asks whether the user agrees, and what to.
                try await wait(for: "Client access grant", browser)
                try await browser.click("#grant-email")
                try await browser.click(".card-body .btn-primary")
                try await wait(for: "Connection to \(TemporaryGlewlwyd.clientID)", browser)
                try await browser.click(".card-footer .btn-success")
                let said = try await outcome(browser)
                let id = try await site.service.psql(
                    "SELECT user_id FROM app_internal._identity WHERE provider = 'glewlwyd'"
                )
                #expect(said == "Saved by \(id), who is new")
                #expect(
                    try await site.service.psql("SELECT _owner = '\(id)', content FROM note") == "t|from the browser"
                )
                #expect(try await browser.address().hasPrefix("\(site.page)?code="))

                // Once more: the provider remembers the user, and the account is the same.
                try await browser.open(page)
                try await browser.click(".card-footer .btn-success")
                #expect(try await outcome(browser) == "Saved by \(id)")
                #expect(try await site.service.psql("SELECT count(DISTINCT _owner), count(*) FROM note") == "1|2")

                // One who turns back at the provider is sent to the application with the error.
                try await browser.open(page)
                _ = try await browser.text(of: ".card-footer .btn-success")
                let asked = URLComponents(string: try await browser.address())?.queryItems ?? []
                let address = try #require(asked.first { $0.name == "callback_url" }?.value)
                let query = URLComponents(string: address)?.queryItems ?? []
                let state = try #require(query.first { $0.name == "state" }?.value)
                let refusal = "\(site.callback)?error=access_denied&state=\(state)&iss=\(site.issuer)"
                try await browser.open(try #require(URL(string: refusal)))
                #expect(try await outcome(browser) == "Not signed in: access_denied")

                // What no sign-in has begun, or was used, stays here, on a page that can be read.
                for state in [state, "another"] {
                    let address = "\(site.callback)?code=x&state=\(state)&iss=\(site.issuer)"
                    try await browser.open(try #require(URL(string: address)))
                    #expect(try await !browser.text(of: "[role=alert]").isEmpty)
                    #expect(try await browser.elements("h1").count == 1)
                    #expect(try await browser.address().hasPrefix(site.callback))
                }
                let violations = try await browser.policyViolations()
                #expect(violations == [])
                #expect(try await site.service.psql("SELECT count(*) FROM note") == "2")
            }
        }
    }
}
