import SkyrowTestSupport
import Testing

@testable import SkyrowModel

@Suite struct ResponseMemoryTests {
    @Test func oneClientHasHalfAndTheNextHalfOfTheRest() {
        let share = Holders<String>(limit: 1000)
        #expect(!share.takes(501, for: "ann"))
        #expect(share.takes(500, for: "ann"))
        #expect(!share.takes(1, for: "ann"))
        #expect(!share.takes(251, for: "bob"))
        #expect(share.takes(250, for: "bob"))
        #expect(share.takes(125, for: "cyd"))
        #expect(!share.takes(1, for: "cyd"))
        // What one gives back is for all.
        share.giveBack(500, from: "ann")
        #expect(share.takes(100, for: "cyd"))
        #expect(share.used == 475)
        #expect(share.largest == 875)
    }

    @Test func whatIsLeftIsTakenInOneGo() {
        let share = Holders<String>(limit: 1000)
        #expect(share.take(atLeast: 10, atMost: 400, for: "ann") == 400)
        #expect(share.take(atLeast: 10, atMost: 400, for: "ann") == 100)
        #expect(share.take(atLeast: 10, atMost: 400, for: "ann") == nil)
        let account = ResponseAccount(limit: 1000, memory: ResponseMemory(limit: 1800))
        #expect(account.takeForText(atLeast: 1, atMost: 800) == .success(800))
        #expect(account.takeForText(atLeast: 1, atMost: 800) == .success(100))
        #expect(account.takeForText(atLeast: 1, atMost: 800) == .failure(.noMemory))
        #expect(account.takeForText(atLeast: 101, atMost: 800) == .failure(.tooLarge))
    }

    @Test func howeverManyClientsThereAreSomethingIsLeft() {
        let share = Holders<Int>(limit: 1 << 20)
        for client in 0..<15 {
            var own = 0
            while share.takes(1024, for: client) { own += 1024 }
            #expect(own > 0 || share.limit - share.used < 2048)
            #expect(share.used < share.limit)
        }
    }

    @Test func rowsAndTextAreBoundedEach() {
        let memory = ResponseMemory(limit: 4000)
        let account = ResponseAccount(limit: 1000, memory: memory)
        #expect(account.takeForRows(1000) == nil)
        #expect(account.takeForRows(1) == .tooLarge)
        #expect(account.takeForText(atLeast: 1000, atMost: 1000) == .success(1000))
        #expect(account.takeForText(atLeast: 1, atMost: 1) == .failure(.tooLarge))
        #expect(memory.bytes == 2000)
        account.giveBackForRows(1000)
        #expect(memory.bytes == 1000)
    }

    @Test func theMemoryOfAllIsBounded() {
        let memory = ResponseMemory(limit: 4000)
        let first = ResponseAccount(limit: 2000, memory: memory)
        let second = ResponseAccount(limit: 2000, memory: memory)
        #expect(first.takeForText(atLeast: 2000, atMost: 2000) == .success(2000))
        #expect(second.takeForText(atLeast: 1, atMost: 1) == .failure(.noMemory))
        let other = ResponseAccount(limit: 2000, memory: memory, client: .init(high: 1))
        #expect(other.takeForText(atLeast: 1000, atMost: 1000) == .success(1000))
        #expect(other.takeForText(atLeast: 1, atMost: 1) == .failure(.noMemory))
    }

    @Test func anAccountGivesBackWhatItsTextsHave() {
        let memory = ResponseMemory(limit: 4000)
        do {
            let account = ResponseAccount(limit: 2000, memory: memory)
            #expect(account.takeForText(atLeast: 1500, atMost: 1500) == .success(1500))
            // A text that took too much in advance gives the rest back at once.
            #expect(account.settleText(taken: 1500, used: 600, mustFit: true) == nil)
            #expect(memory.bytes == 600)
            #expect(account.takeForText(atLeast: 1400, atMost: 1400) == .success(1400))
            #expect(account.settleText(taken: 1400, used: 1401, mustFit: true) == .tooLarge)
            #expect(memory.bytes == 600)
        }
        #expect(memory.bytes == 0)
        #expect(memory.largest == 2000)
    }
}

/// A share that expectations can change.
private final class Holders<Holder: Hashable & Sendable> {
    private var share: FairShare<Holder>

    init(limit: Int) {
        share = FairShare(limit: limit)
    }

    var limit: Int { share.limit }
    var used: Int { share.used }
    var largest: Int { share.largest }

    func take(atLeast least: Int, atMost most: Int, for holder: Holder) -> Int? {
        share.take(atLeast: least, atMost: most, for: holder)
    }

    func takes(_ amount: Int, for holder: Holder) -> Bool {
        share.take(atLeast: amount, atMost: amount, for: holder) != nil
    }

    func giveBack(_ amount: Int, from holder: Holder) {
        share.giveBack(amount, from: holder)
    }
}
