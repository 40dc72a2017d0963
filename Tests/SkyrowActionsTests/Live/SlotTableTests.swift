import SkyrowTestSupport
import Testing

@testable import SkyrowActions

@Suite struct SlotTableTests {
    @Test func aNumberIsOfOneValue() {
        var table = SlotTable<String>()
        let first = table.insert("first")
        let second = table.insert("second")
        #expect(table[first] == "first" && table[second] == "second" && table.count == 2)
        #expect(table.remove(first) == "first")
        // Its place is used again, under another number.
        let third = table.insert("third")
        #expect(third != first && table[first] == nil && table[third] == "third")
        #expect(table.remove(first) == nil && table.count == 2)
        #expect(Set(table.numbers) == [second, third])
        table.remove(second)
        table.remove(third)
        #expect(table.isEmpty && table.numbers == [])
        #expect(![first, second, third].contains(table.insert("fourth")))
        for number in [0, 7, -1, Int.max] { #expect(table[number] == nil) }
    }

    @Test func aValueIsChangedInPlace() {
        var table = SlotTable<Boxed<[Int]>>()
        let one = table.insert(Boxed([1]))
        let copy = table
        table[one]?.value.append(2)
        table[one + 1]?.value.append(3)
        #expect(table[one]?.value == [1, 2] && copy[one]?.value == [1])
        table[one] = nil
        #expect(table.isEmpty && copy.count == 1)
        // A number that has no value gets none.
        table[one] = Boxed([9])
        #expect(table.isEmpty)
    }

    @Test func itDoesWhatATableOfHashesDoes() {
        var random = SeededGenerator(seed: 46)
        var table = SlotTable<Int>()
        var expected: [Int: Int] = [:]
        for value in 0..<5000 {
            if Bool.random(using: &random), let gone = expected.keys.randomElement(using: &random) {
                #expect(table.remove(gone) == expected.removeValue(forKey: gone))
            } else {
                expected[table.insert(value)] = value
            }
        }
        #expect(table.count == expected.count && Set(table.numbers) == Set(expected.keys))
        #expect(expected.allSatisfy { table[$0.key] == $0.value })
    }
}
