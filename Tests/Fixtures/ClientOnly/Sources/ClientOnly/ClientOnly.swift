import Foundation
import SkyrowClient

/// Answers every request with one record, in the place of a service.
struct OneRecord: Transport {
    func send(_ request: TransportRequest) async throws -> TransportResponse {
        let body =
            #"{"jsonrpc":"2.0","id":1,"result":[{"_id":"note/1","_type":"record","_access":null,"title":"Milk"}]}"#
        return TransportResponse(status: 200, body: Array(body.utf8))
    }
}

/// Uses of names that the client must leave to Swift and Foundation.
let swiftsOwn: KeyPath<String, Int> & Sendable = \String.count
let foundationsOwn = #Predicate<Int> { $0 > 1 } as Predicate<Int>

@main
struct ClientOnly {
    static func main() async throws {
        guard let endpoint = URL(string: "http://127.0.0.1:3000") else { return }
        let client = SkyrowClient(endpoint: endpoint, apiKey: "key", transport: OneRecord())
        let note = try await client.publicDatabase.save(RecordDraft("note/1", ["title": "Milk"]))
        print(note["title"]?.stringValue ?? "nothing")
    }
}
