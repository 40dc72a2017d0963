import Foundation
import SkyrowTestSupport
import Testing

@testable import SkyrowSystem

/// A Chromium without a screen, driven through chromedriver as the W3C's WebDriver says.
struct Browser: Sendable {
    /// How the browser is set up.
    struct Options: Sendable {
        /// Whether pages may run scripts.
        var runsScripts = true
        /// Of the window, in CSS pixels.
        var width = 320
    }

    /// Something on a page.
    struct Element: Hashable, Sendable {
        fileprivate let id: String
        /// The name of its id in WebDriver's JSON.
        fileprivate static let key = "element-6066-11e4-a52e-4f735466cecf"
    }

    /// The keys that have no letter (WebDriver, "Keyboard actions").
    static let tab = "\u{E004}"
    static let enter = "\u{E007}"

    /// Of its session.
    private let session: String

    // MARK: What a user does

    func open(_ address: URL) async throws {
        _ = try await command("POST", "url", ["url": address.absoluteString])
    }

    /// Presses keys one after the other, wherever the focus is.
    func type(_ keys: String) async throws {
        let presses = keys.flatMap { key in
            ["keyDown", "keyUp"].map { ["type": $0, "value": String(key)] }
        }
        _ = try await command(
            "POST",
            "actions",
            ["actions": [["type": "key", "id": "keyboard", "actions": presses] as [String: Any]]]
        )
    }

    /// Clicks on the first element that a selector finds, once it can be clicked.
    func click(_ selector: String) async throws {
        try await waiting(until: "\(selector) can be clicked") {
            guard let element = try await elements(selector).first else { return false }
            return (try? await command("POST", "element/\(element.id)/click", [:])) != nil
        }
    }

    /// Puts a text into the first field that a selector finds, once there is one.
    func enter(_ text: String, into selector: String) async throws {
        try await waiting(until: "there is \(selector)") {
            guard let element = try await elements(selector).first else { return false }
            return (try? await command("POST", "element/\(element.id)/value", ["text": text])) != nil
        }
    }

    // MARK: What a user notices

    /// The address of the page.
    func address() async throws -> String {
        try #require(try await command("GET", "url") as? String)
    }

    func title() async throws -> String {
        try #require(try await command("GET", "title") as? String)
    }

    func elements(_ selector: String) async throws -> [Element] {
        let found = try await command("POST", "elements", ["using": "css selector", "value": selector])
        return try #require(found as? [[String: String]]).compactMap { $0[Element.key].map(Element.init) }
    }

    /// The element that has the focus.
    func focused() async throws -> Element? {
        let found = try await command("GET", "element/active")
        return (found as? [String: String])?[Element.key].map(Element.init)
    }

    /// What a screen reader calls the element.
    func label(of element: Element) async throws -> String {
        try #require(try await command("GET", "element/\(element.id)/computedlabel") as? String)
    }

    /// What a screen reader says that the element is.
    func role(of element: Element) async throws -> String {
        try #require(try await command("GET", "element/\(element.id)/computedrole") as? String)
    }

    /// Where the element is shown, in CSS pixels.
    func frame(of element: Element) async throws -> (x: Double, y: Double, width: Double, height: Double) {
        let frame = try #require(try await command("GET", "element/\(element.id)/rect") as? [String: Any])
        func number(_ name: String) throws -> Double { try #require((frame[name] as? NSNumber)?.doubleValue) }
        return (try number("x"), try number("y"), try number("width"), try number("height"))
    }

    func text(of element: Element) async throws -> String {
        try #require(try await command("GET", "element/\(element.id)/text") as? String)
    }

    /// The value of a CSS property that the element is shown with.
    func style(_ property: String, of element: Element) async throws -> String {
        try #require(try await command("GET", "element/\(element.id)/css/\(property)") as? String)
    }

    /// The text of the first element that a selector finds, once there is one.
    func text(of selector: String) async throws -> String {
        var text: String?
        try await waiting(until: "the page has \(selector)") {
            // The page may be left between the two questions.
            guard let element = try await elements(selector).first else { return false }
            text = try? await self.text(of: element)
            return text != nil
        }
        return try #require(text)
    }

    /// What pages had that their own Content-Security-Policy does not let through.
    func policyViolations() async throws -> [String] {
        let entries = try await command("POST", "se/log", ["type": "browser"]) as? [[String: Any]]
        let messages = try #require(entries).compactMap { $0["message"] as? String }
        return messages.filter { $0.contains("Content Security Policy") }
    }

    // MARK: What a page does

    /// Runs a script, whose last argument is the function that takes its result, a text.
    func run(_ script: String, _ arguments: [Any]) async throws -> String {
        let result = try await command("POST", "execute/async", ["script": script, "args": arguments])
        return try #require(result as? String)
    }

    // MARK: WebDriver

    private func command(_ method: String, _ path: String, _ body: [String: Any]? = nil) async throws -> Any {
        try await Browser.send(method, "\(session)/\(path)", body)
    }

    /// Sends a command through curl: URLSession does not read the headers of chromedriver, which have no spaces.
    private static func send(_ method: String, _ address: String, _ body: [String: Any]? = nil) async throws -> Any {
        let words = ["curl", "--silent", "--show-error", "--request", method]
        let data = try body.map { try JSONSerialization.data(withJSONObject: $0) }
        let given = data == nil ? [] : ["--header", "Content-Type: application/json", "--data-binary", "@-"]
        let result = try await Tool.run(
            words: words + given + [address],
            input: data.map { String(decoding: $0, as: UTF8.self) }
        )
        let answer = try? JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]
        guard let value = answer?["value"], (value as? [String: Any])?["error"] == nil else {
            throw ServiceFailure(description: "\(method) \(address): \(result.output)\(result.errors)")
        }
        return value
    }

    /// Runs `body` with a browser of its own.
    static func withBrowser(_ options: Options, _ body: (Browser) async throws -> Void) async throws {
        let folder = try TemporaryDirectory()
        let (driver, port) = try await startDriver(in: folder.path)
        func end() async {
            driver.send(signal: SIGKILL)
            _ = await driver.ended("chromedriver")
        }
        do {
            let root = "http://127.0.0.1:\(port)/session"
            let made = try await send("POST", root, capabilities(options, folder.path)) as? [String: Any]
            let id = try #require(made?["sessionId"] as? String)
            let browser = Browser(session: "\(root)/\(id)")
            do {
                try await body(browser)
            } catch {
                _ = try? await send("DELETE", browser.session)
                throw error
            }
            _ = try await send("DELETE", browser.session)
        } catch {
            await end()
            throw error
        }
        await end()
    }

    /// Starts chromedriver, again where the port it drew is taken.
    ///
    /// It takes a port that is free in IPv6 and then ends unless the same one is free in IPv4.
    private static func startDriver(in home: String) async throws -> (driver: ChildProcess, port: Int) {
        var failure: (any Error)?
        for _ in 0..<10 {
            let (driver, output, _) = try await Tool.launch(["chromedriver", "--port=0"], environment: ["HOME": home])
            do {
                let line = try await Tool.lines(of: output).line("chromedriver's port") {
                    $0.contains("successfully on port ")
                }
                let digits = try #require(line.components(separatedBy: " on port ").last).prefix { $0.isNumber }
                return (driver, try #require(Int(digits)))
            } catch {
                driver.send(signal: SIGKILL)
                _ = await driver.ended("chromedriver")
                failure = error
            }
        }
        throw try #require(failure)
    }

    private static func capabilities(_ options: Options, _ directory: String) -> [String: Any] {
        // Root has no sandbox, and no request leaves the machine.
        let arguments = [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--user-data-dir=\(directory)/profile",
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        ]
        // In milliseconds; by default a browser has a minute to start, and a script half of one.
        let limit = Int(patience.components.seconds) * 1000
        let chrome: [String: Any] = [
            "args": arguments, "browserStartupTimeout": limit,
            // 1 allows scripts, 2 blocks them (Chromium's ContentSetting).
            "prefs": ["profile.managed_default_content_settings.javascript": options.runsScripts ? 1 : 2],
            "mobileEmulation": ["deviceMetrics": ["width": options.width, "height": 640, "pixelRatio": 1]],
        ]
        let capabilities: [String: Any] = [
            "browserName": "chrome", "goog:chromeOptions": chrome, "goog:loggingPrefs": ["browser": "ALL"],
            "timeouts": ["script": limit, "pageLoad": limit],
        ]
        return ["capabilities": ["alwaysMatch": capabilities]]
    }
}
