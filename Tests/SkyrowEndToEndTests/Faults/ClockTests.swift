import Foundation
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// A service whose computer's clock jumps, by libfaketime (Debian's package `faketime`).
@Suite(.timeLimit(.minutes(60))) struct ClockTests {
    private static func library() throws -> String {
        let folder = "/usr/lib/\(try #require(contentsOfDirectory("/usr/lib")?.first { $0.hasSuffix("-linux-gnu") }))"
        return "\(folder)/faketime/libfaketimeMT.so.1"
    }

    @Test func aClockThatJumpsCostsNoWriteAndNoSession() async throws {
        let folder = try TemporaryDirectory()
        let clock = folder.path + "/clock"
        func jump(_ offset: String) throws {
            try offset.write(toFile: clock, atomically: true, encoding: .utf8)
        }
        try jump("+0")
        let service = try await RunningService.start(
            in: folder.path + "/data",
            environment: [
                "LD_PRELOAD": try Self.library(), "FAKETIME_TIMESTAMP_FILE": clock, "FAKETIME_NO_CACHE": "1",
                "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            ]
        )
        let signup = try await service.call(
            "auth:signup",
            #"{"auth_data":{"username":"ann"},"password":"correct horse"}"#
        )
        let token = String(try #require(signup.firstMatch(of: /"access_token":"([^"]+)"/)).1)
        func me() async throws -> String {
            try await service.call("me", "{}", token: token)
        }
        var revisions: [Int] = []
        for (number, offset) in ["+0", "+1d", "-1d", "+13d", "-400d", "+0"].enumerated() {
            try jump(offset)
            #expect(try await me().contains("ann"))
            let saved = try await service.call(
                "record:save",
                #"{"records":[{"_id":"note/\#(number)","content":"\#(offset)"}]}"#
            )
            revisions.append(try #require(saved.firstMatch(of: /"_revision":(\d+)/).flatMap { Int($0.1) }))
            #expect(try await service.status("readyz") == 200)
        }
        #expect(revisions == revisions.sorted() && Set(revisions).count == revisions.count)
        // A year later the session is over, by the clock.
        try jump("+366d")
        let refusal = await #expect(throws: ServiceFailure.self) { try await me() }
        #expect(refusal?.description.contains("AccessTokenNotAccepted") == true)
        #expect(try await service.psql("SELECT count(*) FROM note") == "6")
        #expect(await service.terminate() == .exited(0))
    }
}
