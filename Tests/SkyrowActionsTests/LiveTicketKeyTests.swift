import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// What resumes a stream that a ticket opened, and tickets of API keys.
@Suite struct LiveTicketKeyTests {
    private static let session = "3b9f8f98-f993-4e1d-81c3-a451e483306b"

    struct Mark: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var ticket = "lt_a"
        var query = "record_type=note"
        var key: UInt8 = 1
        var isChanged = false
        let isGood: Bool
    }

    @Test(arguments: [
        Mark(testDescription: "of the stream", isGood: true),
        Mark(testDescription: "of another ticket", ticket: "lt_b", isGood: false),
        Mark(testDescription: "of another query", query: "record_type=task", isGood: false),
        Mark(testDescription: "of another application", key: 2, isGood: false),
        Mark(testDescription: "of another session", isChanged: true, isGood: false),
    ])
    func aMarkHoldsForItsTicketAndQuery(row: Mark) {
        let mark = LiveTicketKey([UInt8](repeating: row.key, count: 32))
            .mark(row.ticket, session: Self.session, query: row.query)
        let key = LiveTicketKey([UInt8](repeating: 1, count: 32))
        let last: Character = mark.last == "A" ? "Q" : "A"
        let text = row.isChanged ? String(mark.dropLast()) + String(last) : mark
        let session = key.session(ofMark: text, "lt_a", query: "record_type=note")
        #expect(session == (row.isGood ? Self.session : nil))
    }

    @Test func textsThatAreNoMarkAreNone() {
        let key = LiveTicketKey([1])
        for text in ["", "A", "AQ-_", String(repeating: "A", count: 22), String(repeating: "A", count: 4000), "é"] {
            #expect(key.session(ofMark: text, "lt_a", query: "") == nil)
        }
    }

    @Test func aTicketOfAKeyHasItSealed() throws {
        let key = LiveTicketKey([1])
        var generator = SeededGenerator(seed: 32)
        let end = Timestamp(microseconds: 1_234_567)
        let ticket = try #require(key.ticket(of: "api", until: end, using: &generator))
        let opened = try #require(key.apiKey(of: ticket))
        #expect(opened.key == "api" && opened.end == end)
        #expect(LiveTicketKey([2]).apiKey(of: ticket) == nil)
        #expect(key.apiKey(of: ticket + "A") == nil && key.apiKey(of: "lk_") == nil && key.apiKey(of: "api") == nil)
        #expect(key.ticket(of: String(repeating: "k", count: 2000), until: end, using: &generator) == nil)
    }

    @Test func aTicketOfAKeyOpensForAMinuteAndResumesAfterIt() async throws {
        try await withService { fixture in
            let service = fixture.service
            let ticket = try await service.run(Actions.liveTicket, by: .anonymous, with: ServiceFixture.key).token
            let opened = try await service.redeem(ticket: ticket, of: "q")
            #expect(opened.key == "api" && opened.session == nil)
            fixture.clock.advance(by: .seconds(61))
            let late = await #expect(throws: SkyrowError.self) { _ = try await service.redeem(ticket: ticket, of: "q") }
            #expect(late?.code == .invalidToken)
            let resumed = try await service.redeem(ticket: ticket, resuming: opened.mark, of: "q")
            #expect(resumed.key == "api" && resumed.mark == opened.mark)
            let other = await #expect(throws: SkyrowError.self) {
                _ = try await service.redeem(ticket: ticket, resuming: opened.mark, of: "other")
            }
            #expect(other?.code == .invalidToken)
        }
    }

    @Test func aTicketOfASessionResumesWhileItsSessionLives() async throws {
        try await withService { fixture in
            let service = fixture.service
            let (ann, caller) = try await service.signUp("ann")
            let own = Credentials.token(ann.accessToken)
            let ticket = try await service.run(Actions.liveTicket, by: caller, with: own).token
            let opened = try await service.redeem(ticket: ticket, of: "q")
            #expect(opened.session != nil && opened.key == nil)
            // It counts once where it does not go on.
            let again = await #expect(throws: SkyrowError.self) {
                _ = try await service.redeem(ticket: ticket, of: "q")
            }
            #expect(again?.code == .invalidToken)
            for _ in 0..<3 {
                let resumed = try await service.redeem(ticket: ticket, resuming: opened.mark, of: "q")
                #expect(resumed.session == opened.session && resumed.mark == opened.mark)
            }
            try await service.run(Actions.authLogOut, with: own)
            let late = await #expect(throws: SkyrowError.self) {
                _ = try await service.redeem(ticket: ticket, resuming: opened.mark, of: "q")
            }
            #expect(late?.code == .invalidToken)
        }
    }
}
