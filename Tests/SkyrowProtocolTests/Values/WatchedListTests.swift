import SkyrowProtocol
import SkyrowTestSupport
import Testing

/// The changes of a list that shows a result.
@Suite struct WatchedListTests {
    private typealias List = WatchedList<String, Int>

    private static func entries(_ text: String) -> [List.Entry] {
        text.split(separator: " ").map { List.Entry(id: String($0.prefix(1)), value: Int($0.dropFirst()) ?? 0) }
    }

    @Test(arguments: [
        ("", "a b", ["+0", "+1"]),
        ("a b", "a b", []),
        ("a b c", "a c", ["-b"]),
        ("a b c", "b c a", ["=2"]),
        ("a b c", "x a b c", ["+0"]),
        ("a b c", "a b1 c", ["=1"]),
        ("a b c d", "c a d b", ["=0", "=2"]),
        ("a b c", "", ["-a", "-b", "-c"]),
    ])
    func whatChangesIsSaid(_ former: String, _ next: String, _ expected: [String]) {
        var list = List()
        _ = list.replace(with: Self.entries(former))
        let changes = list.replace(with: Self.entries(next)).map { change in
            switch change {
            case .left(let id): "-\(id)"
            case .entered(_, let place): "+\(place)"
            case .updated(_, let place): "=\(place)"
            }
        }
        #expect(changes.sorted() == expected.sorted())
    }

    @Test func aListThatAppliesTheChangesIsTheNextOne() {
        var random = SeededGenerator.forTest()
        for _ in 0..<20_000 {
            var (known, shown) = (List(), List())
            for _ in 0..<4 {
                let ids = (0..<8).shuffled(using: &random).prefix(Int.random(in: 0...8, using: &random))
                let next = ids.map { List.Entry(id: "\($0)", value: Int.random(in: 0...1, using: &random)) }
                shown.apply(known.replace(with: next))
                #expect(shown == known && known.entries == next)
                guard shown == known else { return }
            }
        }
    }

    /// A client of another version of the service may be told of a place that it does not have.
    @Test func aPlaceBeyondTheEndIsTheEnd() {
        var list = List()
        list.apply([.entered(List.Entry(id: "a", value: 0), at: 7), .updated(List.Entry(id: "b", value: 1), at: 9)])
        #expect(list.entries == Self.entries("a b1"))
    }
}
