import SkyrowJSON
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowProtocol

@Suite struct AccessListTests {
    @Test(
        arguments: [
            ("null", nil), ("[]", AccessList([])),
            (#"[{"public":true,"level":"read"}]"#, AccessList([AccessEntry(.everyone, .read)])),
            (
                #"[{"role":"editor","level":"write"},{"user_id":"u2","level":"read"}]"#,
                AccessList([AccessEntry(.role("editor"), .write), AccessEntry(.user("u2"), .read)])
            ),
            (#"[{"relation":"$direct","user_id":"u3","level":"read"}]"#, AccessList([AccessEntry(.user("u3"), .read)])),
            (#"[{"owner":true,"level":"write"}]"#, AccessList([])),
            (
                #"[{"owner":true,"level":"write"},{"public":true,"level":"read"}]"#,
                AccessList([AccessEntry(.everyone, .read)])
            ),
            (
                #"[{"public":false,"role":"a","user_id":null,"level":"read"}]"#,
                AccessList([AccessEntry(.role("a"), .read)])
            ),
            (#"[{"role":"'; --","level":"read"}]"#, AccessList([AccessEntry(.role("'; --"), .read)])),
            (
                #"[{"role":"b","level":"update"},{"users":true,"level":"read"},{"role":"b","level":"delete"}]"#,
                AccessList([AccessEntry(.users, .read), AccessEntry(.role("b"), .write)])
            ),
            (
                #"[{"registered":true,"level":"read"},{"verified":true,"level":"delete"},{"group":"golf","level":"read"}]"#,
                AccessList([
                    AccessEntry(.registered, .read), AccessEntry(.verified, .delete),
                    AccessEntry(.group("golf"), .read),
                ])
            ),
            (
                #"[{"key":"tablet","level":"update"},{"key":null,"users":true,"level":"read"}]"#,
                AccessList([AccessEntry(.users, .read), AccessEntry(.apiKey("tablet"), .update)])
            ),
            (
                #"[{"relation":"follower","level":"read"},{"relation":null,"role":"a","level":"read"}]"#,
                AccessList([AccessEntry(.relation(.follower), .read), AccessEntry(.role("a"), .read)])
            ),
        ] as [(String, AccessList?)]
    )
    func listsAreRead(text: String, list: AccessList?) throws {
        #expect(try readJSON(text) { try AccessList($0) } == list)
    }

    @Test(arguments: [
        ("{}", ""), ("\"public\"", ""), ("true", ""), ("[1]", "[0]"), ("[[]]", "[0]"), ("[{}]", "[0]"),
        (#"[{"level":"read"}]"#, "[0]"), (#"[{"public":true}]"#, "[0]"),
        (#"[{"public":true,"level":"admin"}]"#, "[0].level"), (#"[{"public":true,"level":"create"}]"#, "[0].level"),
        (#"[{"public":true,"level":null}]"#, "[0].level"), (#"[{"public":false,"level":"read"}]"#, "[0]"),
        (#"[{"public":"yes","level":"read"}]"#, "[0].public"), (#"[{"users":1,"level":"read"}]"#, "[0].users"),
        (#"[{"role":"","level":"read"}]"#, "[0].role"), (#"[{"role":1,"level":"read"}]"#, "[0].role"),
        (#"[{"user_id":"a\u0000","level":"read"}]"#, "[0].user_id"), (#"[{"group":[],"level":"read"}]"#, "[0].group"),
        (#"[{"key":"","level":"read"}]"#, "[0].key"), (#"[{"key":true,"level":"read"}]"#, "[0].key"),
        (#"[{"key":"a","group":"b","level":"read"}]"#, "[0]"),
        (#"[{"relation":"_friend","level":"read"}]"#, "[0].relation"),
        (#"[{"relation":"_follow","user_id":"u","level":"read"}]"#, "[0].relation"),
        (#"[{"relation":"friend","user_id":"u","level":"read"}]"#, "[0]"),
        (#"[{"relation":"$direct","level":"read"}]"#, "[0]"),
        (#"[{"relation":1,"user_id":"u","level":"read"}]"#, "[0].relation"),
        (#"[{"role":"a","user_id":"b","level":"read"}]"#, "[0]"), (#"[{"role":"a","role":"b","level":"read"}]"#, "[0]"),
        (#"[{"public":true,"owner":true,"level":"read"}]"#, "[0]"), (#"[{"owner":true}]"#, "[0]"),
        (#"[{"field":"members","level":"read"}]"#, "[0]"), (#"[{"public":true,"level":"read"},null]"#, "[1]"),
    ])
    func whatGrantsOtherThanItSaysIsRefused(text: String, path: String) throws {
        let error = try refusal(text) { try AccessList($0) }
        #expect(error?.code == .invalidArgument)
        #expect(error?.path == "_access" + path)
        #expect(error?.arguments == ["_access"])
    }

    @Test func listsAreReadAsTheyWereWritten() throws {
        let list = AccessList([
            AccessEntry(.everyone, .read), AccessEntry(.owner, .write), AccessEntry(.user("u\"1"), .write),
            AccessEntry(.role("é"), .read), AccessEntry(.users, .update), AccessEntry(.group("golf"), .delete),
            AccessEntry(.apiKey("tablet"), .read), AccessEntry(.relation(.friend), .read),
        ])
        let text = writtenJSON { $0.accessList(list) }
        #expect(
            text
                == #"[{"public":true,"level":"read"},{"users":true,"level":"update"},{"owner":true,"level":"write"},"#
                + #"{"user_id":"u\"1","level":"write"},{"role":"é","level":"read"},{"group":"golf","level":"delete"},"#
                + #"{"key":"tablet","level":"read"},{"relation":"friend","level":"read"}]"#
        )
        // All but the owner, who is admitted without an entry.
        let kept = AccessList(list.entries.filter { $0.subject != .owner })
        #expect(try readJSON(text) { try AccessList($0) } == kept)
        #expect(writtenJSON { $0.accessList(nil) } == "null")
    }
}
