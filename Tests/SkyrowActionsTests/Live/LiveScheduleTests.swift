import SkyrowTestSupport
import Testing

/// What clients hold is what there is in the end, in whatever order transactions, answers, pages and losses come.
@Suite struct LiveScheduleTests {
    @Test(arguments: LiveModel.Source.allCases)
    func clientsEndUpWithWhatThereIs(_ source: LiveModel.Source) throws {
        var random = SeededGenerator.forTest()
        for _ in 0..<seededCases(75) {
            let seed = random.next()
            var model = try LiveModel(source, seed: seed)
            for _ in 0..<10 {
                try model.run()
                guard model.differences.isEmpty else {
                    Issue.record("seed \(seed): \(model.differences)")
                    return
                }
            }
        }
    }
}
