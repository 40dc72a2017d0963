import SkyrowModel
import SkyrowPostgres
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

@Suite struct SessionNoticeTests {
    static let hash = (0..<32).map { UInt8($0 * 8 + 7) }
    static let digits = "070f171f272f373f474f575f676f777f878f979fa7afb7bfc7cfd7dfe7eff7ff"

    @Test(arguments: [
        ("token:" + digits, SessionNotice.token(hash: hash)),
        ("user:ann", .user("ann")),
        ("user:a:b/c", .user("a:b/c")),
        ("files", .files),
        ("functions", .functions),
        ("all", .all),
        // Whatever cannot be read is taken for the most it could mean.
        ("", .all),
        ("token:", .all),
        ("token:07", .all),
        ("token:" + digits + "00", .all),
        ("token:" + digits.dropLast(), .all),
        ("token:" + digits.dropLast() + "g", .all),
        ("token:" + digits.uppercased(), .all),
        ("nonsense", .all),
    ])
    func aPayloadIsReadAsWhatItEnds(payload: String, notice: SessionNotice) {
        #expect(Self.notice("app/" + payload) == notice)
        #expect(Self.notice("blog/" + payload) == nil)
        #expect(Self.notice("application/" + payload) == nil)
    }

    /// What is said by hand, without a schema, is said of all applications.
    @Test(arguments: ["", "all", "nonsense"])
    func aPayloadWithoutASchemaIsForAll(payload: String) {
        #expect(Self.notice(payload) == .all)
    }

    private static func notice(_ payload: String) -> SessionNotice? {
        SessionNotice(.notification(channel: "skyrow_session", payload: payload, processID: 1), of: "app")
    }

    @Test func aReconnectionIsToldApartFromTheFirstConnection() {
        #expect(SessionNotice(.connected, of: "app") == .listening(again: false))
        #expect(SessionNotice(.reconnected, of: "app") == .listening(again: true))
        #expect(SessionNotice(.silent, of: "app") == .all)
    }
}
