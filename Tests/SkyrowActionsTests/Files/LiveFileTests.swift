import Foundation
import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Synchronization
import Testing

@testable import SkyrowActions

/// The addresses of files in live messages.
@Suite(.timeLimit(.minutes(60))) struct LiveFileTests {
    /// A connection that keeps the text of what it gets.
    private final class TextOutlet: LiveOutlet, Changing {
        private let texts = Mutex<[String]>([])
        let changes = ChangeSignal()
        let generation = 0

        /// The changes so far.
        var text: String { texts.withLock { $0.joined(separator: "\n") } }

        func send(_ message: LiveMessage, in generation: Int) -> Bool {
            let bytes = message.parameters.parts.flatMap { Array($0) }
            texts.withLock { $0.append(String(decoding: bytes, as: UTF8.self)) }
            changes.notify()
            return true
        }

        func close(_ reason: LiveClosure) {}

        func waitForRoom(atMost limit: Duration) async {}
    }

    @Test(arguments: [LiveConfiguration.Source.logical, .polling])
    func messagesHaveAddresses(_ source: LiveConfiguration.Source) async throws {
        let files = FileConfiguration(storage: MemoryFileStorage(), urlPrefix: "https://files.example/files")
        try await withLiveService(source, files: files) { fixture in
            let service = fixture.service
            let target = UploadTarget.new(filename: "cat.png", contentType: nil)
            let master = FilesFixture.master
            let upload = try await service.beginUpload(target, length: nil, from: master, id: FilesFixture.id)
            try await upload.append(FilesFixture.png)
            let file = try await upload.finish()
            func save(_ recordID: String) async throws {
                let note = draft(recordID, ["photo": .asset(Asset(file.asset.name))])
                let saved = try await service.save(SaveRequest(note), by: ServiceFixture.masterCaller)
                #expect(saved.summaries == ["saved"])
            }
            try await save("note/1")
            let outlet = TextOutlet()
            let session = LiveSession(of: service, outlet: outlet)
            let request = LiveSubscribeRequest(name: "s", type: type("note"), sendsInitial: true)
            try await session.subscribe(request, as: .anonymous)
            try await waiting(until: "the subscription is ready", hearing: [outlet]) {
                outlet.text.contains(#""ready":true"#)
            }
            try await save("note/2")
            try await waiting(until: "the change arrives", hearing: [outlet]) { outlet.text.contains("note/2") }
            let value = #""photo":{"$type":"asset","$name":"\#(file.asset.name)","$url":"\#(file.url)"}"#
            #expect(outlet.text.components(separatedBy: value).count == 3)
            session.end()
        }
    }

    /// An address changes with time, and that is no change of the record.
    @Test func aResultThatIsKeptCurrentIsComparedWithoutAddresses() async throws {
        try await withFiles { files in
            let ann = try await files.user("ann")
            let name = try await files.upload(by: ann.sender)
            let note = draft("note/1", ["photo": .asset(Asset(name))])
            #expect(try await files.service.save(SaveRequest(note), by: ann.caller).summaries == ["saved"])
            let query = QueryRequest(database: .everyone, query: RecordQuery(type: type("note")))
            func answer() async throws -> WatchedAnswer {
                let result = try await files.service.query(query, by: ann.caller)
                return try WatchedAnswer(result, limit: 10_000, hidesFields: false, links: files.service.links)
            }
            let first = try await answer()
            files.base.clock.advance(by: .seconds(3600))
            let second = try await answer()
            #expect(first.entries == second.entries)
            let texts = [first, second].map { String(decoding: $0.records[0].json, as: UTF8.self) }
            #expect(texts[0] != texts[1] && texts.allSatisfy { $0.contains(#""$url":"https://files.example/files/"#) })
        }
    }
}
