import SkyrowJSON
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowWire

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
        ] as [(String, AccessList?)]
    )
    func listsAreRead(text: String, list: AccessList?) throws {
        #expect(try readJSON(text) { try AccessList($0) } == list)
    }

    @Test(arguments: [
        "{}", "\"public\"", "true", "[1]", "[[]]", "[{}]", #"[{"level":"read"}]"#, #"[{"public":true}]"#,
        #"[{"public":true,"level":"admin"}]"#, #"[{"public":true,"level":"create"}]"#,
        #"[{"public":false,"level":"read"}]"#,
        #"[{"public":"yes","level":"read"}]"#, #"[{"role":"","level":"read"}]"#, #"[{"role":1,"level":"read"}]"#,
        #"[{"user_id":"a\u0000","level":"read"}]"#, #"[{"relation":"_friend","level":"read"}]"#,
        #"[{"relation":1,"user_id":"u","level":"read"}]"#, #"[{"role":"a","user_id":"b","level":"read"}]"#,
        #"[{"public":true,"owner":true,"level":"read"}]"#, #"[{"owner":true}]"#, #"[{"group":"g","level":"read"}]"#,
        #"[{"public":true,"level":"read"},null]"#,
    ])
    func whatGrantsOtherThanItSaysIsRefused(text: String) throws {
        let error = try refusal(text) { try AccessList($0) }
        #expect(error?.code == .invalidArgument)
        #expect(error?.arguments == ["_access"])
    }

    @Test func listsAreReadAsTheyWereWritten() throws {
        let list = AccessList([
            AccessEntry(.everyone, .read), AccessEntry(.owner, .write), AccessEntry(.user("u\"1"), .write),
            AccessEntry(.role("é"), .read),
        ])
        let text = writtenJSON { $0.accessList(list) }
        #expect(
            text
                == #"[{"public":true,"level":"read"},{"owner":true,"level":"write"},{"user_id":"u\"1","level":"write"},{"role":"é","level":"read"}]"#
        )
        // All but the owner, who is admitted without an entry.
        let kept = AccessList(list.entries.filter { $0.subject != .owner })
        #expect(try readJSON(text) { try AccessList($0) } == kept)
        #expect(writtenJSON { $0.accessList(nil) } == "null")
    }
}
