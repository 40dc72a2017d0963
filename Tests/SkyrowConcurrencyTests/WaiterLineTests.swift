import SkyrowTestSupport
import Testing

@testable import SkyrowConcurrency

/// Each waiter is taken out once, those that stay in the order in which they came.
@Suite struct WaiterLineTests {
    private enum Step: Hashable {
        case enter(Int)
        case leave(Int)
        case serve
    }

    @Test func everyOrderOfThreeWaitersServesThoseThatStay() {
        let scripts = (0..<3).map { [Step.enter($0), .leave($0)] } + [[.serve], [.serve]]
        let schedules = interleavings(scripts)
        #expect(schedules.count == 5040)
        for schedule in Set(schedules) {
            var line = WaiterLine<Int>()
            var tickets: [Int: WaiterLine<Int>.Ticket] = [:]
            var model: [Int] = []
            for step in schedule {
                switch step {
                case .enter(let waiter):
                    tickets[waiter] = line.enter(waiter)
                    model.append(waiter)
                case .leave(let waiter):
                    let left = tickets[waiter].flatMap { line.leave($0) }
                    #expect(left == (model.contains(waiter) ? waiter : nil), "\(schedule)")
                    model.removeAll { $0 == waiter }
                case .serve:
                    let served = line.serve()
                    #expect(served == model.first, "\(schedule)")
                    if !model.isEmpty { model.removeFirst() }
                }
                #expect(line.all == model && line.count == model.count && line.isEmpty == model.isEmpty, "\(schedule)")
            }
        }
    }

    @Test func drawnSchedulesAgreeWithAList() {
        var random = SeededGenerator.forTest()
        for _ in 0..<seededCases(200) {
            var line = WaiterLine<Int>()
            var model: [(ticket: WaiterLine<Int>.Ticket, waiter: Int)] = []
            var tickets: [WaiterLine<Int>.Ticket] = []
            for number in 0..<200 {
                switch Int.random(in: 0..<16, using: &random) {
                case 0..<7:
                    tickets.append(line.enter(number))
                    model.append((tickets[tickets.count - 1], number))
                case 7..<11:
                    let served = line.serve()
                    #expect(served == model.first?.waiter)
                    if !model.isEmpty { model.removeFirst() }
                case 11..<14:
                    guard let ticket = tickets.randomElement(using: &random) else { continue }
                    let left = line.leave(ticket)
                    let place = model.firstIndex { $0.ticket == ticket }
                    #expect(left == place.map { model[$0].waiter })
                    model.removeAll { $0.ticket == ticket }
                case 14:
                    guard let ticket = tickets.randomElement(using: &random) else { continue }
                    let isReplaced = line.replace(ticket, by: -number)
                    let place = model.firstIndex { $0.ticket == ticket }
                    #expect(isReplaced == (place != nil))
                    if let place { model[place].waiter = -number }
                default:
                    let divisor = Int.random(in: 1...5, using: &random)
                    let left = line.leave { $0.isMultiple(of: divisor) }
                    #expect(left == model.map(\.waiter).filter { $0.isMultiple(of: divisor) })
                    model.removeAll { $0.waiter.isMultiple(of: divisor) }
                }
                #expect(line.all == model.map(\.waiter))
            }
            let rest = line.close()
            #expect(rest == model.map(\.waiter) && line.isEmpty)
        }
    }
}
