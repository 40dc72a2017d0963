import Foundation
import SkyrowClient

/// Logs in as a new user, saves a note in the private database, and looks for airports near the Canadian border.
func visitAirports(client: SkyrowClient) async throws {
    try await client.signUp(["username": "ann-\(UUID().uuidString)"], password: "correct horse")
    try await client.privateDatabase.save(RecordDraft("note/plan", ["title": "Fly north"]))

    let query = try RecordQuery("airport")
        .filter(Field("latitude") > 48 && Field("state") == "WA")
        .sorted(by: "latitude", .descending)
        .limited(to: 5)
    for airport in try await client.publicDatabase.query(query).records {
        print(airport["name"]?.stringValue ?? "", airport["city"]?.stringValue ?? "")
    }
}
