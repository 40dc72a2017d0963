import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// When applications are opened, shared and put to rest.
@Suite struct ApplicationStatesTests {
    private typealias States = ApplicationStates<Int>

    private let shop: ApplicationName
    private let start = ContinuousClock.now

    init() throws {
        shop = try ApplicationName("shop")
    }

    /// Opens an application as its first request would.
    private func open(_ name: ApplicationName, as value: Int, in states: inout States) throws {
        let number = try #require(states.request(name, at: start).number)
        let isOfUse = states.settle(name, number, .success(value), at: start)
        #expect(isOfUse)
    }

    @Test func oneRequestOpensAndTheOthersWait() throws {
        var states = States()
        let number = try #require(states.request(shop, at: start).number)
        let (second, now) = (states.request(shop, at: start), states.openNow(shop, at: start))
        #expect(second.isWait && now == nil)
        let isOfUse = states.settle(shop, number, .success(7), at: start)
        let (third, later) = (states.request(shop, at: start), states.openNow(shop, at: start))
        #expect(isOfUse && third.used == 7 && later == 7)
    }

    @Test func aFailureIsTheAnswerForASecond() throws {
        var states = States()
        let number = try #require(states.request(shop, at: start).number)
        let isOfUse = states.settle(shop, number, .failure(.keyNotAccepted), at: start)
        let soon = states.request(shop, at: start + .milliseconds(999))
        let later = states.request(shop, at: start + .seconds(1))
        #expect(isOfUse && soon.failure == .accessKeyNotAccepted && later.number != nil)
    }

    @Test func aBoundedNumberOfRequestsWaits() {
        var states = States()
        _ = states.request(shop, at: start)
        let steps = (0..<States.maximumWaiting).map { _ in states.request(shop, at: start) }
        let all = steps.allSatisfy(\.isWait)
        #expect(all)
        let refused = states.request(shop, at: start)
        #expect(refused.failure == .overloaded)
        states.leave(shop)
        let next = states.request(shop, at: start)
        #expect(next.isWait)
    }

    @Test func anOpeningOfAClosedApplicationIsOfNoUse() throws {
        var states = States()
        let first = try #require(states.request(shop, at: start).number)
        let closed = states.close(shop)
        #expect(closed == nil)
        let second = try #require(states.request(shop, at: start).number)
        let isFirstOfUse = states.settle(shop, first, .success(1), at: start)
        let isSecondOfUse = states.settle(shop, second, .success(2), at: start)
        #expect(!isFirstOfUse && isSecondOfUse)
        let last = states.close(shop)
        #expect(last == 2)
    }

    @Test func whatIsNotAskedIsPutToRestButForTheDefaultOne() throws {
        var states = States()
        for name in [shop, .default] { try open(name, as: 1, in: &states) }
        #expect(states.resting(at: start + States.rest - .seconds(1)).isEmpty)
        #expect(states.resting(at: start + States.rest) == [shop])
        _ = states.openNow(shop, at: start + .seconds(60))
        #expect(states.resting(at: start + States.rest).isEmpty)
    }

    /// Whatever comes in whatever order: one opening at a time, and what is used was opened and not closed since.
    @Test(arguments: 1...40)
    func anySchedule(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let names = try ["a", "b"].map { try ApplicationName($0) }
        var states = States()
        var now = start
        var opening: [ApplicationName: Int] = [:]
        var open: [ApplicationName: Int] = [:]
        for step in 0..<400 {
            let name = names[Int.random(in: 0...1, using: &random)]
            now = now + .milliseconds(Int64.random(in: 0...800, using: &random))
            switch Int.random(in: 0...9, using: &random) {
            case 0...5:
                switch states.request(name, at: now) {
                case .use(let opened): #expect(open[name] == opened)
                case .open(let number):
                    #expect(open[name] == nil && opening[name] == nil)
                    opening[name] = number
                case .wait: #expect(opening[name] != nil)
                case .fail: #expect(open[name] == nil)
                }
            case 6...7:
                guard let number = opening.removeValue(forKey: name) else { continue }
                let succeeds = Bool.random(using: &random)
                let isOfUse = states.settle(
                    name,
                    number,
                    succeeds ? .success(step) : .failure(.keyNotAccepted),
                    at: now
                )
                #expect(isOfUse)
                if succeeds { open[name] = step }
            case 8:
                let closed = states.close(name)
                #expect(closed == open.removeValue(forKey: name))
                guard let number = opening.removeValue(forKey: name) else { continue }
                let isOfUse = states.settle(name, number, .success(-1), at: now)
                #expect(!isOfUse)
            default:
                states.leave(name)
            }
            #expect(states.open.map(\.name) == open.keys.sorted())
        }
    }
}

extension ApplicationStates.Step {
    fileprivate var isWait: Bool { if case .wait = self { true } else { false } }
    fileprivate var number: Int? { if case .open(let number) = self { number } else { nil } }
    fileprivate var used: Opened? { if case .use(let opened) = self { opened } else { nil } }
    fileprivate var failure: ErrorCode? { if case .fail(let error) = self { error.code } else { nil } }
}
