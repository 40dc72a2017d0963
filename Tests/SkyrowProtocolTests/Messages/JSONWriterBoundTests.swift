import SkyrowModel
import Testing

@testable import SkyrowJSON
@testable import SkyrowProtocol

/// Texts that an account bounds.
@Suite struct JSONWriterBoundTests {
    private struct Source: RecordSource {
        let id: String
        let length: Int

        func emit(into sink: inout some RecordSink) {
            sink.beginRecord()
            Array("note".utf8).withUnsafeBytes { type in
                Array(id.utf8).withUnsafeBytes { sink.member(MemberKey("_id"), .recordID(type: type, id: $0)) }
            }
            sink.member(MemberKey("_revision"), .integer(7))
            let text = [UInt8](repeating: UInt8(ascii: "x"), count: length)
            text.withUnsafeBytes { sink.member(MemberKey("text"), .string($0)) }
            sink.endRecord()
        }
    }

    private func outcomes(_ count: Int, length: Int) -> [RecordOutcome] {
        (0..<count).map { .record(Source(id: "\($0)", length: length)) }
    }

    private func account(_ limit: Int, memory: ResponseMemory? = nil) -> ResponseAccount {
        ResponseAccount(limit: limit, memory: memory ?? ResponseMemory(limit: 100_000_000))
    }

    @Test func aTextWithinTheBoundIsAsWithoutOne() {
        let free = JSONWriter()
        free.outcomes(outcomes(30, length: 10_000))
        let writer = JSONWriter(account: account(1_000_000))
        writer.outcomes(outcomes(30, length: 10_000))
        #expect(writer.settle() == nil)
        #expect(writer.bytes == free.bytes)
    }

    @Test func aTextBeyondTheBoundIsRefusedAndTakesNoMore() {
        let memory = ResponseMemory(limit: 100_000_000)
        let writer = JSONWriter(account: account(1_000_000, memory: memory))
        writer.outcomes(outcomes(5000, length: 10_000))
        #expect(writer.settle() == .tooLarge)
        #expect(memory.bytes == 0)
        #expect(memory.largest <= 1_000_000)
    }

    @Test func aTextForWhichThereIsNoMemoryIsRefused() {
        let writer = JSONWriter(account: account(10_000_000, memory: ResponseMemory(limit: 400_000)))
        writer.records((0..<50).map { Source(id: "\($0)", length: 10_000) })
        #expect(writer.settle() == .noMemory)
    }

    /// What was written is reported whatever its length.
    @Test func beyondTheBoundWrittenRecordsGoWithoutTheirFields() {
        let writer = JSONWriter(account: account(200_000))
        writer.written(outcomes(40, length: 10_000))
        #expect(writer.settle() == nil)
        let text = String(decoding: writer.bytes, as: UTF8.self)
        let entries = text.dropFirst().dropLast().replacing("},{", with: "}\n{").split(separator: "\n")
        #expect(entries.count == 40)
        #expect(entries[0].hasPrefix(#"{"_id":"note/0","_type":"record","_revision":7,"text":"xxx"#))
        #expect(entries[39] == #"{"_id":"note/39","_type":"record","_revision":7,"_fields_omitted":true}"#)
        let whole = entries.filter { $0.contains("text") }.count
        #expect((15...27).contains(whole))
        #expect(writer.count < 350_000)
    }

    @Test func aConflictBeyondTheBoundGoesWithoutItsRecord() throws {
        let text = RecordValue.string(String(repeating: "x", count: 90_000))
        let record = Record(id: try RecordID("note/1"), fields: [try FieldName("text"): text])
        let error = SkyrowError(.conflict, "No.", info: ["record": .record(record)])
        let writer = JSONWriter(account: account(100_000))
        writer.written([.failure(error, id: "note/1"), .failure(error, id: "note/1"), .failure(error, id: "note/1")])
        #expect(writer.settle() == nil)
        let written = String(decoding: writer.bytes, as: UTF8.self)
        #expect(written.hasSuffix(#"{"_id":"note/1","_type":"error","name":"Conflict","code":130,"message":"No."}]"#))
    }

    @Test func shortTextsOfOneResponseCountTogether() {
        let account = account(100_000)
        func settle() -> ResponseAccount.Refusal? {
            let writer = JSONWriter(account: account)
            writer.outcomes(outcomes(1, length: 40_000))
            return writer.settle(isPart: true)
        }
        #expect([settle(), settle(), settle(), settle()] == [nil, nil, .tooLarge, .tooLarge])
    }
}
