import Foundation
import SkyrowActions
import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Synchronization
import Testing

@testable import SkyrowServer
@testable import SkyrowSystem

/// Function servers as processes: their calls, and what happens when they end, change and grow.
@Suite struct FunctionServersTests {
    @Test func aServerIsStartedWithItsDirectoryEnvironmentAndLimits() async throws {
        let registered = Mutex<[String]>([])
        let register: FunctionServer.Register = { server, registration in
            registered.withLock { $0.append("\(server) \(registration.functions.count)") }
        }
        var process: pid_t = 0
        try await withFunctionServers(register: register) { fixture in
            // Until it has answered, calls have an error of their own, and nothing waits.
            let early = await fixture.error("version")
            #expect(early == nil || early?.code == .pluginInitializing)
            try await fixture.reaches("version", "1")
            #expect(fixture.state == .ready)
            let limits = try await fixture.call("limits")
            #expect(limits == "[1024, 0]")
            let directory = try await fixture.call("directory")
            let expected = try #require(resolvedPath(fixture.directory))
            #expect(directory == "\"\(expected)\"")
            let environment = try await fixture.call("environment")
            #expect(environment.contains("SKYROW_MASTER_KEY") && environment.contains("HTTP_ADDR"))
            #expect(!environment.contains("SECRET_OF_THE_SERVICE"))
            let names = registered.withLock { $0 }
            #expect(names == ["main 14"])
            process = try await fixture.processID()
            let page = PrometheusText.text(fixture.registry.families)
            #expect(page.contains(#"skyrow_function_calls_total{function="pid",kind="op",outcome="OK"} 1"#))
            #expect(page.contains(#"skyrow_function_server_up{server="main"} 1"#))
            #expect(page.contains(#"skyrow_function_slots_used{server="main"} 0"#))
            #expect(page.contains(#"skyrow_function_seconds_count{kind="op"}"#))
        }
        // It has ended with the service.
        #expect(kill(process, 0) == -1 && errno == ESRCH)
    }

    @Test func eachProcessGetsTheEventsOfTheStartOnce() async throws {
        try await withFunctionServers { fixture in
            try await fixture.reaches("version", "1")
            let process = try await fixture.processID()
            func events() -> [String] {
                let text = (try? String(contentsOfFile: "\(fixture.directory)/events", encoding: .utf8)) ?? ""
                let lines = text.split(separator: "\n").map { $0.split(separator: " ") }
                return lines.filter { $0.first == "\(process)" }.compactMap { $0.last.map(String.init) }
            }
            try await waiting(until: "the last event has arrived") { events().last == "server-ready" }
            let expected = [
                "init", "before-config", "after-config", "before-plugins-ready", "after-plugins-ready", "server-ready",
            ]
            #expect(events().filter { $0 != "init" } == Array(expected.dropFirst()))
            #expect(events().first == "init")
        }
    }

    // MARK: Errors

    @Test(arguments: [false, true])
    func exceptionsAreForTheLogUnlessInDevelopmentMode(_ isDevelopment: Bool) async throws {
        try await withFunctionServers(["development": "\(isDevelopment)", "function-reload": "off"]) { fixture in
            try await fixture.reaches("version", "1")
            let error = await fixture.error("fail")
            let message = isDevelopment ? "a secret of the server" : "The function failed."
            #expect(error == SkyrowError(.unexpectedError, message, info: ["request_id": .string("r-1")]))
            #expect(
                fixture.log.contains("A function failed", "function=fail", "request_id=r-1", "a secret of the server")
            )
            #expect(fixture.log.contains("A function failed", "trace=line 1"))
            let own = await fixture.error("code")
            #expect(own?.code == ErrorCode(rawValue: 20001) && own?.message == "No more places.")
        }
    }

    @Test func aCallThatTakesTooLongEnds() async throws {
        try await withFunctionServers { fixture in
            try await fixture.reaches("version", "1")
            let own = await fixture.error("hang", within: .milliseconds(200))
            #expect(own?.code == .pluginTimeout)
            let request = await fixture.error("hang", deadline: .now + .milliseconds(200))
            #expect(request?.code == .pluginTimeout)
            let over = await fixture.error("version", deadline: .now)
            #expect(over?.code == .pluginTimeout)
            #expect(fixture.state == .ready)
        }
    }

    @Test func aLargeAnswerIsAFailure() async throws {
        try await withFunctionServers(["function-answer": "4096"]) { fixture in
            try await fixture.reaches("version", "1")
            let error = await fixture.error("large")
            #expect(
                error == SkyrowError(.unexpectedError, "The function failed.", info: ["request_id": .string("r-1")])
            )
            #expect(fixture.log.contains("sent no answer", "function=large", "exceeds function-answer"))
        }
    }

    // MARK: Ends

    @Test func aServerThatIsKilledIsRestarted() async throws {
        try await withFunctionServers { fixture in
            try await fixture.reaches("version", "1")
            let process = try await fixture.processID()
            kill(process, SIGKILL)
            try await waiting(until: "another process answers") {
                let next = (try? await fixture.processID()) ?? process
                return next != process
            }
            #expect(fixture.log.contains("ended and is being restarted", "status=signal 9"))
            let page = PrometheusText.text(fixture.registry.families)
            #expect(page.contains(#"skyrow_function_server_restarts_total{server="main"} 1"#))
        }
    }

    @Test func aServerThatEndsDuringACallIsUnavailable() async throws {
        try await withFunctionServers { fixture in
            try await fixture.reaches("version", "1")
            let error = await fixture.error("crash")
            #expect(error?.code == .pluginUnavailable)
            try await fixture.reaches("version", "1")
            #expect(fixture.log.contains("status=exit code 3"))
        }
    }

    @Test func aServerThatNeverStartsIsDown() async throws {
        try await withFunctionServers(program: "import nothing_of_this_name\n") { fixture in
            try await waiting(until: "the server is down", hearing: [fixture.log]) {
                if case .down? = fixture.state { true } else { false }
            }
            let error = await fixture.error("version")
            #expect(error?.code == .pluginUnavailable || error?.code == .pluginInitializing)
            // What it said is in the log.
            try await waiting(until: "its output is in the log", hearing: [fixture.log]) {
                fixture.log.contains("nothing_of_this_name", "function_server=main")
            }
            // It starts as soon as its files are right.
            try fixture.write("server.py", FunctionServersFixture.program(version: 1))
            try await fixture.reaches("version", "1")
        }
    }

    /// Each call once wrapped what makes links in another closure, so that calls took ever longer.
    @Test func manyCallsTakeNoDeeperStack() async throws {
        try await withFunctionServers { fixture in
            try await fixture.reaches("version", "1")
            let name = try FunctionName("version")
            let call = FunctionCall(.function(name, arguments: nil), of: "main", context: FunctionContext())
            let past = ContinuousClock.now - .seconds(1)
            var codes: Set<ErrorCode> = []
            for _ in 0..<50_000 {
                do throws(SkyrowError) {
                    _ = try await fixture.servers.call(call, deadline: past)
                } catch {
                    codes.insert(error.code)
                }
            }
            #expect(codes == [.pluginTimeout])
            try await fixture.reaches("version", "1")
        }
    }

    // MARK: Replacements

    @Test func aReplacementLosesNoCall() async throws {
        try await withFunctionServers { fixture in
            try await fixture.reaches("version", "1")
            let process = try await fixture.processID()
            let isOver = Flag()
            let callers = (0..<4).map { _ in
                Task { () async throws -> [String] in
                    var results: [String] = []
                    while !isOver.isSet { results.append(try await fixture.call("slow")) }
                    return results
                }
            }
            try fixture.write("server.py", FunctionServersFixture.program(version: 2))
            fixture.servers.reload("test")
            try await fixture.reaches("version", "2")
            isOver.set()
            for caller in callers {
                let results = try await caller.value
                #expect(Set(results).isSubset(of: ["1", "2"]))
            }
            try await waiting(until: "the old process has ended") { kill(process, 0) == -1 }
            #expect(fixture.log.contains("A function server was replaced"))
        }
    }

    @Test func changedFilesReplaceTheServer() async throws {
        try await withFunctionServers(["function-reload": "on"]) { fixture in
            try await fixture.reaches("version", "1")
            try fixture.write("server.py", FunctionServersFixture.program(version: 2))
            try await fixture.reaches("version", "2")
        }
    }

    @Test func aBrokenVersionChangesNothing() async throws {
        try await withFunctionServers { fixture in
            try await fixture.reaches("version", "1")
            let process = try await fixture.processID()
            try fixture.write("server.py", "this is not Python(\n")
            fixture.servers.reload("test")
            try await waiting(until: "the replacement has failed", hearing: [fixture.log]) {
                fixture.log.contains("was not replaced; the old one stays", "exit code 1")
            }
            #expect(fixture.state == .ready)
            let same = try await fixture.processID()
            #expect(same == process)
        }
    }

    @Test func aRefusedVersionChangesNothing() async throws {
        let isRefused = Mutex(false)
        let register: FunctionServer.Register = { _, _ throws(SkyrowError) in
            guard isRefused.withLock({ $0 }) else { return }
            throw SkyrowError(.duplicated, "The function version is another server's.")
        }
        try await withFunctionServers(register: register) { fixture in
            try await fixture.reaches("version", "1")
            isRefused.withLock { $0 = true }
            // Another registration, since the same one is not stored again.
            let program = FunctionServersFixture.program(version: 2)
            try fixture.write("server.py", program.replacing(#""version", "pid""#, with: #""version", "more", "pid""#))
            fixture.servers.reload("test")
            try await waiting(until: "the replacement has failed", hearing: [fixture.log]) {
                fixture.log.contains("was not replaced; the old one stays", "The function version is another server's.")
            }
            try await fixture.reaches("version", "1")
        }
    }

    @Test func eachRegistrationWithReadHooksIsWarnedOfOnce() async throws {
        func program(_ version: Int, _ hooks: String...) -> String {
            let list = #""protocol": "skyrow/1", "hook": [\#(hooks.joined(separator: ", "))]"#
            return FunctionServersFixture.program(version: version).replacing(#""hook": []"#, with: list)
        }
        func hook(_ name: String, _ trigger: String) -> String {
            #"{"name": "\#(name)", "type": "note", "trigger": "\#(trigger)"}"#
        }
        let (check, mine, form) = (hook("check", "beforeSave"), hook("mine", "beforeQuery"), hook("form", "afterFetch"))
        try await withFunctionServers(program: program(1, check)) { fixture in
            try await fixture.reaches("version", "1")
            let versions: [(program: String, version: String, warnings: [String])] = [
                (program(2, check, mine), "2", ["hooks=mine"]),
                // The same registration.
                (program(3, check, mine), "3", ["hooks=mine"]),
                (program(4, form, mine), "4", ["hooks=mine", "hooks=form, mine"]),
                (program(5, check), "5", ["hooks=mine", "hooks=form, mine"]),
            ]
            #expect(!fixture.log.contains("no access rule"))
            for (program, version, expected) in versions {
                try fixture.write("server.py", program)
                fixture.servers.reload("test")
                try await fixture.reaches("version", version)
                let warnings = fixture.log.all.filter { $0.contains("A read hook is no access rule") }
                #expect(warnings.count == expected.count, "\(version)")
                for (warning, words) in zip(warnings, expected) {
                    #expect(warning.hasPrefix("warning ") && warning.hasSuffix(words))
                }
            }
        }
    }

    @Test func aRefusedServerAnswersNothing() async throws {
        let register: FunctionServer.Register = { _, _ throws(SkyrowError) in
            throw SkyrowError(.duplicated, "The function version is another server's.")
        }
        try await withFunctionServers(register: register) { fixture in
            try await waiting(until: "the server is refused", hearing: [fixture.log]) {
                fixture.state == .refused("The function version is another server's.")
            }
            let error = await fixture.error("version")
            #expect(error?.code == .pluginUnavailable)
        }
    }

    // MARK: Bounds

    @Test func aServerWithTooMuchMemoryIsReplaced() async throws {
        try await withFunctionServers(options: #", "memory": "200MB""#) { fixture in
            try await fixture.reaches("version", "1")
            let process = try await fixture.processID()
            _ = await fixture.error("grow")
            try await waiting(until: "another process answers") {
                let next = (try? await fixture.processID()) ?? process
                return next != process
            }
            #expect(fixture.log.contains("is being replaced", "it takes too much memory"))
        }
    }

    @Test func outputWithoutEndIsDroppedAndCounted() async throws {
        try await withFunctionServers { fixture in
            try await fixture.reaches("version", "1")
            _ = try await fixture.call("shout")
            try await waiting(until: "lines are dropped", hearing: [fixture.log]) {
                fixture.log.contains("lines of a function server were dropped")
            }
            try await fixture.reaches("version", "1")
        }
    }

    @Test func whatAServerSaysInJSONIsTakenOver() async throws {
        try await withFunctionServers { fixture in
            try await fixture.reaches("version", "1")
            _ = try await fixture.call("say")
            try await waiting(until: "it is in the log", hearing: [fixture.log]) {
                fixture.log.contains("error said", "function_server=main", "request_id=r-7")
            }
        }
    }

    // MARK: Servers elsewhere

    @Test func aServerElsewhereIsReachedWhenItIsThere() async throws {
        // Nothing listens on this port.
        try await withFunctionServers(["function-servers": "mail=http://127.0.0.1:1"]) { fixture in
            try await waiting(until: "it is down", hearing: [fixture.log]) {
                if case .down? = fixture.servers.states.first?.state { true } else { false }
            }
            #expect(fixture.servers.states.map(\.server) == ["mail", "main"])
            let call = FunctionCall(.event("x", nil), of: "mail", context: FunctionContext())
            let error = await #expect(throws: SkyrowError.self) { try await fixture.servers.call(call, deadline: nil) }
            #expect(error?.code == .pluginUnavailable)
            let unknown = FunctionCall(.event("x", nil), of: "other", context: FunctionContext())
            let other = await #expect(throws: SkyrowError.self) {
                try await fixture.servers.call(unknown, deadline: nil)
            }
            #expect(other?.code == .pluginUnavailable)
            // One that is away changes nothing for the other.
            try await fixture.reaches("version", "1")
        }
    }
}

/// Ends the loops of several tasks.
private final class Flag: Sendable {
    private let state = Mutex(false)

    var isSet: Bool { state.withLock { $0 } }

    func set() { state.withLock { $0 = true } }
}
