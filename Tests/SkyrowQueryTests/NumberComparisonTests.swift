import SkyrowTestSupport
import Testing

@testable import SkyrowQuery

/// A comparison with a literal of the other kind means what the exact comparison means.
@Suite struct NumberComparisonTests {
    private static let integers: [Int64] = [
        .min, .min + 1, -9_007_199_254_740_993, -2, -1, 0, 1, 2, 9_007_199_254_740_991, 9_007_199_254_740_992,
        9_007_199_254_740_993, .max - 1, .max,
    ]
    private static let numbers: [Double] = [
        -.infinity, -1e300, -0x1p63, -9_007_199_254_740_994, -2.5, -1, -0.0, .leastNonzeroMagnitude, 0.5, 1, 2.5,
        0x1p53, 0x1p53 + 2,
        0x1p63.nextDown, 0x1p63, 1e300, .infinity,
    ]

    @Test(arguments: [Relation.equal, .unequal, .greater, .greaterOrEqual, .less, .lessOrEqual])
    func roundingChangesNothing(_ relation: Relation) throws {
        for integer in Self.integers {
            for number in Self.numbers {
                let order = ValueOrder(integer, beside: number)
                let ofIntegers = try #require(NumberComparison<Int64>(relation, number))
                #expect(holds(ofIntegers, integer) { ValueOrder($0, $1) } == order.satisfies(relation))
                let ofDoubles = NumberComparison<Double>(relation, integer)
                #expect(
                    holds(ofDoubles, number) { ValueOrder(numbers: $0, $1) } == order.turned.satisfies(relation),
                    "\(number) \(relation) \(integer)"
                )
            }
        }
    }

    private func holds<Number>(
        _ comparison: NumberComparison<Number>,
        _ value: Number,
        _ order: (Number, Number) -> ValueOrder
    ) -> Bool {
        switch comparison {
        case .always: true
        case .never: false
        case .compare(let relation, let bound): order(value, bound).satisfies(relation)
        }
    }
}
