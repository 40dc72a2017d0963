import SkyrowJSON
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowProtocol

@Suite struct SessionMessagesTests {
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
}
