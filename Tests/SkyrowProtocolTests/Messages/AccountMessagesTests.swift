import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowProtocol

@Suite struct AccountMessagesTests {
    @Test func signUpIsReadInAllItsForms() throws {
        let full = try readJSON(
            #"{"auth_data":{"username":"ann","email":null},"password":"pw","profile":{"age":3,"_id":"user/x","":1,"name":"Ann"}}"#
        ) { try SignUpRequest(parameters: $0) }
        #expect(full.authData == ["username": "ann"])
        #expect(full.password == "pw")
        #expect(full.profile.map(\.name.rawValue) == ["age", "name"])
        #expect(full.profile.map(\.value) == [.integer(3), .string("Ann")])
        for text in ["{}", #"{"auth_data":null,"password":null,"profile":null}"#] {
            let anonymous = try readJSON(text) { try SignUpRequest(parameters: $0) }
            #expect(anonymous.authData.isEmpty && anonymous.password == nil && anonymous.profile.isEmpty)
        }
        let back = try readJSON(writtenJSON { $0.signUpParameters(full) }) { try SignUpRequest(parameters: $0) }
        #expect(back.authData == full.authData && back.password == full.password)
        #expect(back.profile.map(\.value) == full.profile.map(\.value))
    }

    @Test(
        arguments: [
            (#"{"auth_data":[]}"#, .badRequest), (#"{"auth_data":{"username":1}}"#, .invalidArgument),
            (#"{"auth_data":{"username":""}}"#, .invalidArgument),
            (#"{"auth_data":{"username":"a\u0000"}}"#, .invalidArgument),
            (#"{"password":1}"#, .badRequest), (#"{"profile":[]}"#, .badRequest),
            (#"{"profile":{"a b":1}}"#, .invalidArgument),
            (#"{"profile":{"a":{"$type":"blob"}}}"#, .invalidArgument),
            (#"{"provider":"com.facebook"}"#, .invalidArgument),
        ] as [(String, ErrorCode)]
    )
    func signUpsThatCannotBeReadAreRefused(text: String, code: ErrorCode) throws {
        #expect(try refusal(text) { try SignUpRequest(parameters: $0) }?.code == code)
    }

    @Test func logInNeedsLoginDataAndPassword() throws {
        let request = try readJSON(#"{"auth_data":{"username":"ann"},"password":"pw"}"#) {
            try LogInRequest(parameters: $0)
        }
        #expect(request.authData == ["username": "ann"] && request.password == "pw")
        let back = try readJSON(writtenJSON { $0.logInParameters(request) }) { try LogInRequest(parameters: $0) }
        #expect(back.authData == request.authData && back.password == "pw")
        #expect(try refusal(#"{"password":"pw"}"#) { try LogInRequest(parameters: $0) }?.arguments == ["auth_data"])
        #expect(
            try refusal(#"{"auth_data":{"a":"b"}}"#) { try LogInRequest(parameters: $0) }?.arguments == ["password"]
        )
        #expect(try refusal(#"{"provider":"x"}"#) { try LogInRequest(parameters: $0) }?.arguments == ["provider"])
    }

    @Test func changingThePasswordNeedsBoth() throws {
        let request = try readJSON(#"{"old_password":"a","password":"b","invalidate":true}"#) {
            try ChangePasswordRequest(parameters: $0)
        }
        #expect(request.oldPassword == "a" && request.password == "b")
        #expect(
            try refusal(#"{"password":"b"}"#) { try ChangePasswordRequest(parameters: $0) }?.arguments == [
                "old_password"
            ]
        )
        let back = try readJSON(writtenJSON { $0.changePasswordParameters(request) }) {
            try ChangePasswordRequest(parameters: $0)
        }
        #expect(back.oldPassword == "a" && back.password == "b")
    }

    @Test func credentialsMayBeNull() throws {
        let body = #"{"api_key":"k","access_token":null,"_user_id":"u1"}"#
        #expect(try readJSON(body) { try Credentials(parameters: $0) } == Credentials(key: "k", actingUserID: "u1"))
        #expect(try refusal(#"{"api_key":1}"#) { try Credentials(parameters: $0) }?.code == .badRequest)
        #expect(try refusal(#"{"_user_id":""}"#) { try Credentials(parameters: $0) }?.arguments == ["_user_id"])
    }
}
