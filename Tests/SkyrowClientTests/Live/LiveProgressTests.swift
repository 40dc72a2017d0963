import SkyrowModel
import SkyrowProtocol
import Testing

@testable import SkyrowClient

/// What a live query does with what comes, as a value.
@Suite struct LiveProgressTests {
    private func record(_ id: String, _ revision: Int64 = 1) throws -> Record {
        var record = Record(id: try RecordID("task/\(id)"))
        record.revision = revision
        return record
    }

    private func pairs(_ pairs: (String, Int64)...) -> [ComparedRecords.Pair] {
        pairs.map { ComparedRecords.Pair(id: $0, revision: $1) }
    }

    private func id(_ id: String) throws -> RecordID { try RecordID("task/\(id)") }

    private func progress(loadsRecords: Bool = true) throws -> LiveProgress {
        LiveProgress(type: try RecordTypeName("task"), loadsRecords: loadsRecords)
    }

    /// One that is ready, with a token "t" and the records 1, 2 and 3.
    private func ready(loadsRecords: Bool = true) throws -> LiveProgress {
        var progress = try progress(loadsRecords: loadsRecords)
        #expect(progress.step == .attach(.anew, after: nil))
        progress.attached()
        if loadsRecords {
            let events = try ["1", "2", "3"].map { LiveEvent.initial(try record($0)) }
            #expect(progress.take(.changes(events)) == events)
        }
        #expect(progress.take(.checkpoint(token: "t", isReady: true)) == [.ready])
        #expect(progress.step == .listen && progress.isEstablished)
        return progress
    }

    @Test func eventsAreToldAsTheyCome() throws {
        var progress = try ready()
        let events: [LiveEvent] = [
            .created(try record("4")), .updated(try record("1", 2), previous: [:]),
            .left(try record("2", 3), previous: [:]),
            .deleted(try id("3")),
        ]
        #expect(progress.take(.changes(events)) == events)
        #expect(progress.held.keys.map(\.text).sorted() == ["1", "4"])
        #expect(progress.take(.checkpoint(token: "u", isReady: false)) == [])
        #expect(progress.token == "u")
    }

    @Test func removalsOfWhatIsNotHeldAreIgnored() throws {
        var progress = try ready()
        #expect(progress.take(.changes([.removed(try id("1")), .removed(try id("9"))])) == [.removed(try id("1"))])
        // Without records at the beginning it is not known what the application holds.
        var bare = try ready(loadsRecords: false)
        #expect(bare.take(.changes([.removed(try id("9"))])) == [.removed(try id("9"))])
    }

    @Test(arguments: [LiveReset.gap, .bulk])
    func aGapGoesOnFromAToken(reason: LiveReset) throws {
        for loadsRecords in [true, false] {
            var progress = try ready(loadsRecords: loadsRecords)
            #expect(progress.take(.reset(reason, token: nil, pause: .seconds(1))) == [])
            #expect(progress.step == .attach(.since("t"), after: .seconds(1)))
            #expect(progress.take(.reset(reason, token: "u", pause: nil)) == [])
            #expect(progress.step == .attach(.since("u"), after: nil))
        }
        // Before the first token.
        var early = try progress()
        early.attached()
        #expect(early.take(.reset(reason, token: nil, pause: nil)) == [.reset(reason)])
        #expect(early.step == .attach(.anew, after: nil))
    }

    @Test(arguments: [LiveReset.access, .branch, .expired])
    func otherRightsAreComparedFor(reason: LiveReset) throws {
        var progress = try ready()
        #expect(progress.take(.reset(reason, token: "ignored", pause: .seconds(2))) == [.reset(reason)])
        #expect(progress.step == .compare(cursor: nil, after: .seconds(2)))
        #expect(progress.compared(ComparedRecords(pairs: pairs(("1", 1)), cursor: "c")) == [])
        #expect(progress.step == .compare(cursor: "c", after: nil))
        // 2 differs, 3 is gone, 4 and 5 are new.
        let events = progress.compared(ComparedRecords(pairs: pairs(("2", 7), ("4", 1), ("5", 1)), token: "u"))
        #expect(events == [.removed(try id("3"))])
        #expect(progress.step == .fetch(["2", "4", "5"]))
        let changed: [LiveEvent] = [.changed(try record("2", 7)), .changed(try record("4"))]
        // 5 is gone by now, and was never held.
        #expect(progress.fetched([("2", try record("2", 7)), ("4", try record("4")), ("5", nil)]) == changed)
        #expect(progress.step == .attach(.since("u"), after: nil))
        #expect(progress.held.keys.map(\.text).sorted() == ["1", "2", "4"])

        // What holds nothing begins anew.
        var bare = try ready(loadsRecords: false)
        #expect(bare.take(.reset(reason, token: nil, pause: nil)) == [.reset(reason)])
        #expect(bare.step == .attach(.anew, after: nil))
    }

    @Test func aHundredRecordsAreFetchedAtOnce() throws {
        var progress = try ready()
        _ = progress.take(.reset(.access, token: nil, pause: nil))
        let pairs = (1...250).map { ComparedRecords.Pair(id: "n\($0)", revision: 1) }
        #expect(progress.compared(ComparedRecords(pairs: pairs, token: "u")).count == 3)
        var counts: [Int] = []
        while case .fetch(let ids) = progress.step {
            counts.append(ids.count)
            #expect(progress.fetched(try ids.map { ($0, try record($0)) }).count == ids.count)
        }
        #expect(counts == [100, 100, 50])
        #expect(progress.held.count == 250)
    }

    @Test(arguments: [LiveReset.access, .branch, .expired, .schema, LiveReset(rawValue: "later")])
    func aComparisonThatIsResetBeginsAgain(reason: LiveReset) throws {
        var progress = try ready()
        _ = progress.take(.reset(.access, token: nil, pause: nil))
        _ = progress.compared(ComparedRecords(pairs: pairs(("1", 1), ("9", 9)), cursor: "c"))
        let events = progress.compared(ComparedRecords(reset: reason))
        if reason == .schema || reason.rawValue == "later" {
            #expect(events == [.reset(reason)] && progress.step == .attach(.anew, after: nil))
        } else {
            #expect(events == [] && progress.step == .compare(cursor: nil, after: .seconds(1)))
            // Nothing is left of the first pass.
            #expect(progress.compared(ComparedRecords(pairs: pairs(("1", 1)), token: "u")).count == 2)
            #expect(progress.step == .attach(.since("u"), after: nil))
        }
    }

    @Test(arguments: [LiveReset.schema, LiveReset(rawValue: "of a later version")])
    func anotherFormIsLoadedAnew(reason: LiveReset) throws {
        var progress = try ready()
        #expect(progress.take(.reset(reason, token: "t", pause: nil)) == [.reset(reason)])
        #expect(progress.step == .attach(.anew, after: nil))
        progress.attached()
        let again = LiveEvent.initial(try record("2", 5))
        #expect(progress.take(.changes([again])) == [again])
        let events = progress.take(.checkpoint(token: "u", isReady: true))
        #expect(Set(events) == [.removed(try id("1")), .removed(try id("3")), .ready] && events.last == .ready)
    }

    @Test func aBeginningThatBreaksIsLoadedAgain() throws {
        var progress = try progress()
        progress.attached()
        _ = progress.take(.changes([.initial(try record("1")), .initial(try record("2"))]))
        #expect(progress.take(.restarted) == [])
        let again = LiveEvent.initial(try record("2"))
        #expect(progress.take(.changes([again])) == [again])
        #expect(progress.take(.checkpoint(token: "t", isReady: true)) == [.removed(try id("1")), .ready])

        var bare = try self.progress(loadsRecords: false)
        bare.attached()
        #expect(bare.take(.restarted) == [.reset(.gap)])
        #expect(bare.step == .listen)
    }

    @Test func whatIsDroppedComesAgain() throws {
        var progress = try ready()
        #expect(progress.take(.dropped) == [])
        #expect(progress.step == .attach(.since("t"), after: nil))

        // Before the first token it is loaded page by page, as fast as it is taken.
        var early = try self.progress()
        early.attached()
        _ = early.take(.changes([.initial(try record("0"))]))
        #expect(early.take(.dropped) == [])
        #expect(early.step == .load(cursor: nil))
        #expect(early.loaded(ChangesResult(changed: [try record("1")], cursor: "c")) == [.initial(try record("1"))])
        #expect(early.step == .load(cursor: "c"))
        // Once more from the beginning.
        #expect(early.loaded(ChangesResult(reset: .schema)) == [])
        #expect(early.step == .load(cursor: nil))
        let last = early.loaded(ChangesResult(changed: [try record("2")], token: "t"))
        #expect(last.first == .initial(try record("2")))
        #expect(Set(last.dropFirst()) == [.removed(try id("0")), .removed(try id("1"))])
        #expect(early.step == .attach(.since("t"), after: nil))

        var bare = try self.progress(loadsRecords: false)
        bare.attached()
        #expect(bare.take(.dropped) == [.reset(.gap)])
        #expect(bare.step == .attach(.anew, after: nil))
    }
}
