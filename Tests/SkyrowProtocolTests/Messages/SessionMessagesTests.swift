import SkyrowJSON
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowProtocol

@Suite struct SessionMessagesTests {
    private static let id = "0b7f5f0e-8d2c-4b3a-9a64-6f1f0c2d9e11"

    @Test func aLoginSaysForWhichDeviceItIs() throws {
        let device = SessionDevice(id: "7f3c", name: "Ann's phone")
        let logIn = LogInRequest(authData: ["username": "ann"], password: "pw", device: device)
        #expect(
            try readJSON(writtenJSON { $0.logInParameters(logIn) }) { try LogInRequest(parameters: $0) }.device
                == device
        )
        let signUp = SignUpRequest(authData: ["username": "ann"], password: "pw", device: device)
        #expect(
            try readJSON(writtenJSON { $0.signUpParameters(signUp) }) { try SignUpRequest(parameters: $0) }.device
                == device
        )
        let none = try readJSON(#"{"auth_data":{"a":"b"},"password":"pw","device_id":null}"#) {
            try LogInRequest(parameters: $0)
        }
        #expect(none.device == SessionDevice())
        for (name, value) in [
            ("device_id", #""""#), ("device_name", "\"a\\u0000\""),
            ("device_name", "\"\(String(repeating: "x", count: 256))\""),
        ] {
            let text = #"{"auth_data":{"a":"b"},"password":"pw","\#(name)":\#(value)}"#
            #expect(try refusal(text) { try LogInRequest(parameters: $0) }?.arguments == [name])
        }
    }

    @Test(
        arguments: [
            (#"{"ids":["\#(id)"]}"#, .ids([id])), (#"{"ids":[]}"#, .ids([])),
            (#"{"all":true}"#, .all(exceptCurrent: false)),
            (#"{"all":true,"except_current":true,"ids":null}"#, .all(exceptCurrent: true)),
        ] as [(String, RevokeSessionsRequest)]
    )
    func sessionsAreEndedByIDsOrAll(_ text: String, _ expected: RevokeSessionsRequest) throws {
        let request = try readJSON(text) { try RevokeSessionsRequest(parameters: $0) }
        #expect(request == expected)
        let back = try readJSON(writtenJSON { $0.revokeSessionsParameters(request) }) {
            try RevokeSessionsRequest(parameters: $0)
        }
        #expect(back == expected)
    }

    @Test(arguments: [
        "{}", #"{"all":false}"#, #"{"except_current":true}"#, #"{"ids":["\#(id)"],"all":true}"#,
        #"{"ids":["\#(id)"],"except_current":true}"#, #"{"ids":["x"]}"#, #"{"ids":["\#(id)x"]}"#,
        #"{"ids":["0b7f5f0e8d2c-4b3a-9a64-6f1f0c2d9e11-"]}"#,
    ])
    func anythingElseEndsNone(_ text: String) throws {
        let error = try refusal(text) { try RevokeSessionsRequest(parameters: $0) }
        #expect(error?.code == .invalidArgument)
    }

    @Test func aMalformedIDIsNamed() throws {
        let error = try refusal(#"{"ids":["\#(Self.id)","x"]}"#) { try RevokeSessionsRequest(parameters: $0) }
        #expect(error?.info["path"] == .string("ids[1]"))
    }

    @Test func aSessionIsReadAsItWasWritten() throws {
        let full = AccountSession(
            id: Self.id,
            device: SessionDevice(id: "d", name: "n"),
            address: "192.0.2.7",
            userAgent: "Notes/1",
            createdAt: Timestamp(microseconds: 0),
            lastUsedAt: Timestamp(microseconds: 60_000_000),
            expiresAt: Timestamp(microseconds: 90_000_000),
            createdWith: "login",
            isCurrent: true
        )
        let least = AccountSession(
            id: Self.id,
            createdAt: Timestamp(microseconds: 0),
            lastUsedAt: Timestamp(microseconds: 0)
        )
        let back = try readJSON(writtenJSON { $0.sessions([full, least]) }) { json in
            try json.elements.map { try AccountSession(result: $0) }
        }
        #expect(back == [full, least])
    }
}
