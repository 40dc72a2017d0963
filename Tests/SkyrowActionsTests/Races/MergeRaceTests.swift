import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// Saves of both accounts beside a merge of one into the other, in three services.
@Suite(.timeLimit(.minutes(60))) struct MergeRaceTests {
    /// Of each save that was acknowledged one row is there in the end, and none of another. A record of the guest may have got
    /// the id under which the user saves one a moment later, and is that one then.
    @Test func nothingIsLostAndNothingIsDoubled() async throws {
        try await withRacingServices { racing in
            try await racing.run("SELECT _create_type('note'); ALTER TABLE note ADD title text COLLATE \"C\"")
            for service in racing.services { try await service.store.cache.reload() }
            for round in 0..<raceRounds(3) { try await merge("merge-\(round)", racing) }
        }
    }

    private func merge(_ name: String, _ racing: RacingServices) async throws {
        let (ann, caller, own) = try await racing.signUp(name)
        let guest = try await racing[0].signUp(SignUpRequest())
        let guestOwn = Credentials.token(guest.accessToken)
        let saved = Counter()
        // By sessions that each service remembers.
        let savers = (0..<Race.tasks - 1).map { task in
            Task {
                try await Self.save(name, task, as: task.isMultiple(of: 2) ? guestOwn : own, racing[task], saved)
            }
        }
        try await waiting(until: "records are saved", hearing: [saved]) { saved.value >= Race.tasks }
        let token = guest.accessToken
        async let first = racing[1].run(Actions.authMerge, token, by: caller)
        async let second = racing[2].run(Actions.authMerge, token, by: caller)
        let reports = try await [first, second]
        #expect(reports.contains { $0.isFinished })
        var titles: Set<String> = []
        for saver in savers { titles.formUnion(try await saver.value) }
        // What was saved by requests that were let in before comes a minute later.
        try await racing.run("UPDATE _merge SET next_at = now() WHERE next_at < 'infinity'")
        try await racing.run("UPDATE _deletion SET next_at = now() WHERE next_at < 'infinity'")
        await racing[0].continueMerges()
        await racing[1].continueDeletions()
        let rows = "FROM app.note WHERE title LIKE '\(name)-%'"
        let found = try await racing.texts("SELECT title \(rows)")
        #expect(Set(found).count == found.count, "\(name): doubled")
        let lost = titles.subtracting(found).filter { title in
            !(title.hasPrefix("\(name)-0-") && titles.contains(title.replacing("\(name)-0-", with: "\(name)-1-")))
        }
        #expect(lost.isEmpty, "\(name)")
        #expect(titles.isSuperset(of: found), "\(name): saved and refused")
        let left =
            "\(rows) AND (_owner IS DISTINCT FROM '\(ann.userID)' OR _database NOT IN ('_public', '\(ann.userID)'))"
        #expect(try await racing.number("SELECT count(*) \(left)") == 0, "\(name): left behind")
    }

    /// Saves records until it is refused; returns the titles of those that were acknowledged.
    ///
    /// The first two tasks save under the same ids in the private databases, the next two under their own; the others save in the
    /// public one.
    private static func save(
        _ name: String,
        _ task: Int,
        as own: Credentials,
        _ service: ActionService,
        _ saved: Counter
    ) async throws(SkyrowError) -> Set<String> {
        var titles: Set<String> = []
        for number in 0..<12 {
            let title = "\(name)-\(task)-\(number)"
            let record = task < 2 ? "\(name)-\(number)" : title
            let request = SaveRequest(
                draft("note/\(record)", ["title": .string(title)]),
                database: task < 4 ? .own : .everyone
            )
            do {
                let caller = try await service.authenticate(own, for: .user)
                let result = try await service.save(request, by: caller)
                if result.summaries == ["saved"] { titles.insert(title) }
            } catch {
                guard error.code == .accessTokenNotAccepted else { throw error }
                return titles
            }
            saved.increment()
        }
        return titles
    }
}
