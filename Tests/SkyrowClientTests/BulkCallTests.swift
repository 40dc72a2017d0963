import SkyrowModel
import Testing

@testable import SkyrowClient

@Suite struct BulkCallTests {
    @Test func changesAreAskedForAndTheirResultIsRead() async throws {
        let scripted = ScriptedClient([
            .result(#"{"updated":["lap/1"],"no_permission":["lap/2"],"not_found":[],"conflict":["lap/3"],"count":3}"#),
            .result(#"{"updated":[],"no_permission":[],"not_found":["lap/9"],"conflict":[],"count":0}"#),
            .result(
                #"{"deleted":["lap/1"],"no_permission":[],"not_found":[],"conflict":[],"count":1,"dependents":["a/1"],"dependents_hidden":2}"#
            ),
        ])
        let database = scripted.client.publicDatabase
        let lap = try RecordTypeName("lap")
        let changes = try RecordChanges(["late": true], applying: ["n": .increment(by: 1)])
        let updated = try await database.update(lap, where: Field("n") > 3, set: changes, atMost: 5, isDryRun: true)
        func texts(_ ids: [RecordID]) -> [String] { ids.map(\.description) }
        #expect(texts(updated.changed) == ["lap/1"] && texts(updated.notPermitted) == ["lap/2"])
        #expect(texts(updated.conflicting) == ["lap/3"] && updated.count == 3)
        let missing = try await database.update([try RecordID("lap/9")], set: changes)
        #expect(texts(missing.notFound) == ["lap/9"])
        let deleted = try await database.delete(lap, where: Field("n") > 3, atMost: 5)
        #expect(texts(deleted.changed) == ["lap/1"] && texts(deleted.dependents.ids) == ["a/1"])
        #expect(deleted.dependents.hidden == 2)
        let bodies = scripted.transport.bodies
        let set = #""set":{"late":true,"n":{"$op":"inc","$val":1}}"#
        let predicate = #""predicate":["gt",{"$type":"keypath","$val":"n"},3]"#
        #expect(
            bodies[0].contains(
                #""params":{"database_id":"_public","record_type":"lap",\#(predicate),\#(set),"at_most":5,"dry_run":true}"#
            )
        )
        #expect(bodies[1].contains(#""record_type":"lap","ids":["lap/9"],\#(set),"idempotency_key":""#))
        #expect(bodies[2].contains(#""method":"record:delete""#))
        #expect(bodies[2].contains(#"\#(predicate),"at_most":5,"idempotency_key":""#))
    }
}
