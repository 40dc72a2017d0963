import Testing

@testable import SkyrowActions

@Suite struct BoxedTests {
    private struct Pair: Equatable {
        var first: Int
        var others: [Int]
    }

    @Test func aCopyKeepsItsValue() {
        var one = Boxed(Pair(first: 1, others: [1]))
        let other = one
        one.first = 2
        one.others.append(2)
        #expect(one.value == Pair(first: 2, others: [1, 2]))
        #expect(other.value == Pair(first: 1, others: [1]))
    }

    @Test func aTableOfThemChangesInPlace() {
        var table = [7: Boxed(Pair(first: 1, others: []))]
        let former = table
        table[7]?.first += 1
        table[7]?.value.others = [3]
        table[8]?.first = 5
        #expect(table[7]?.value == Pair(first: 2, others: [3]))
        #expect(table[8] == nil)
        #expect(former[7]?.first == 1)
    }
}
