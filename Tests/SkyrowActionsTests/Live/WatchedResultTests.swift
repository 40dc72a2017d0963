import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// The changes of a list that shows a result.
@Suite struct WatchedResultTests {
    private static func entries(_ text: String) -> [WatchedResult.Entry] {
        text.split(separator: " ").map { word in
            WatchedResult.Entry(id: String(word.prefix(1)), digest: Int(word.dropFirst()) ?? 0)
        }
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
        var result = WatchedResult()
        _ = result.replace(with: Self.entries(former), digest: nil)
        let changes = result.replace(with: Self.entries(next), digest: nil).changes.map { change in
            switch change {
            case .left(let id): "-\(id)"
            case .entered(let place): "+\(place)"
            case .updated(let place): "=\(place)"
            }
        }
        #expect(changes.sorted() == expected.sorted())
    }

    @Test func aListThatAppliesTheChangesIsTheNextResult() {
        var random = SeededGenerator.forTest()
        for _ in 0..<20_000 {
            var shown = WatchedResult()
            var list: [WatchedResult.Entry] = []
            for _ in 0..<4 {
                let ids = (0..<8).shuffled(using: &random).prefix(Int.random(in: 0...8, using: &random))
                let next = ids.map { WatchedResult.Entry(id: "\($0)", digest: Int.random(in: 0...1, using: &random)) }
                let changes = shown.replace(with: next, digest: nil).changes
                let named = changes.map { change in
                    switch change {
                    case .left(let id): id
                    case .entered(let place), .updated(let place): next[place].id
                    }
                }
                list.removeAll { named.contains($0.id) }
                for change in changes {
                    switch change {
                    case .left: break
                    case .entered(let place), .updated(let place): list.insert(next[place], at: place)
                    }
                }
                #expect(list == next)
                guard list == next else { return }
            }
        }
    }
}
