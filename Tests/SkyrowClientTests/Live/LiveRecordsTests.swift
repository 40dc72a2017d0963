import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowClient

/// The records that events lead to.
@Suite struct LiveRecordsTests {
    private func record(_ id: String, _ title: String = "") throws -> Record {
        Record(id: try RecordID("task/\(id)"), fields: [try FieldName("title"): .string(title)])
    }

    @Test func eachEventLeadsToItsRecords() throws {
        let id = try RecordID("task/1")
        let old = try record("1", "old")
        let new = try record("1", "new")
        let rows: [(event: LiveEvent, with: Record?, without: Record?)] = [
            (.initial(new), new, new), (.created(new), new, new), (.entered(new, previous: [:]), new, new),
            (.updated(new, previous: [:]), new, new), (.changed(new), new, new), (.left(new, previous: [:]), nil, nil),
            (.deleted(id), nil, nil), (.removed(id), nil, nil), (.reset(.access), old, nil),
        ]
        for (event, with, without) in rows {
            var records = LiveRecords()
            #expect(records.apply(event) == (without != nil), "\(event)")
            #expect(records[id] == without)
            // Again.
            #expect(records.apply(event) == false)
            records = LiveRecords()
            records.apply(.initial(old))
            #expect(records.apply(event) == (with != old), "\(event)")
            #expect(records[id] == with)
            #expect(records.apply(event) == false)
        }
        var records = LiveRecords()
        #expect(!records.isReady)
        #expect(records.apply(.ready) == true)
        #expect(records.isReady)
        #expect(records.apply(.ready) == false)
    }

    /// Whatever part of the events comes again, the end is the same.
    @Test func repeatsDoNoHarm() throws {
        var random = SeededGenerator.forTest()
        for _ in 0..<2_000 {
            var truth: [RecordID: Record] = [:]
            var events: [LiveEvent] = []
            for number in 0..<Int.random(in: 1...30, using: &random) {
                let record = try record("\(Int.random(in: 1...5, using: &random))", "\(number)")
                let wasThere = truth[record.id] != nil
                if Bool.random(using: &random) {
                    truth[record.id] = record
                    events.append(wasThere ? .updated(record, previous: [:]) : .created(record))
                } else {
                    truth[record.id] = nil
                    events.append(Bool.random(using: &random) ? .deleted(record.id) : .left(record, previous: [:]))
                }
            }
            var records = LiveRecords()
            // A resume tells the rest again from some place before.
            var place = 0
            while place < events.count {
                records.apply(events[place])
                place += 1
                if Int.random(in: 0..<8, using: &random) == 0 { place = Int.random(in: 0...place, using: &random) }
            }
            try #require(records.byID == truth)
        }
    }
}
