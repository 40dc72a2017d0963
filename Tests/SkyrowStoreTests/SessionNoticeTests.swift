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
        #expect(SessionNotice(.notification(channel: "skyrow_session", payload: payload, processID: 1)) == notice)
    }

    @Test func aReconnectionIsToldApartFromTheFirstConnection() {
        #expect(SessionNotice(.connected) == .listening(again: false))
        #expect(SessionNotice(.reconnected) == .listening(again: true))
        #expect(SessionNotice(.silent) == .all)
    }
}
