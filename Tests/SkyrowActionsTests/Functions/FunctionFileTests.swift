import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

@Suite struct FunctionFileTests {
    /// A function may return what it got, and files in its result get addresses.
    @Test func theArgumentsNameFilesThatTheCallerMayUse() async throws {
        try await withFiles { files in
            let service = files.service
            let echo = registration(functions: [function("echo")])
            // Nothing answers, so a call that is not refused before ends with 118.
            service.functions.replace(FunctionRegistry(servers: [("main", echo)], database: []))
            let ann = try await files.user("ann")
            let ben = try await files.user("ben")
            let own = try await files.upload(by: ann.sender)
            let others = try await files.upload(by: ben.sender)
            func text(_ name: String) -> String { #"{"file": {"$type": "asset", "$name": "\#(name)"}}"# }
            let hidden = #"[{"a": {"$type": "\u0061sset", "$name": "\#(others)"}}]"#
            let master = Caller(kind: .master(actingAs: nil))
            let rows: [(text: String, caller: Caller, code: ErrorCode)] = [
                (#"{"a": 1}"#, ann.caller, .pluginUnavailable),
                (text("\(own)"), ann.caller, .pluginUnavailable),
                (text("\(others)"), ann.caller, .invalidArgument),
                (hidden, ann.caller, .invalidArgument),
                (text("\(own)x"), ann.caller, .invalidArgument),
                (text("\(others)"), ben.caller, .pluginUnavailable),
                (hidden, master, .pluginUnavailable),
            ]
            for (text, caller, code) in rows {
                try await expectError(code) {
                    try await service.perform(Actions.functionCall, FunctionInvocation("echo", text), Call(by: caller))
                        .text
                }
            }
        }
    }
}
