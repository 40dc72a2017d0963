import SkyrowJSON
import SkyrowModel
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// Skygear's `sso:oauth`, for servers of applications that ask providers themselves.
@Suite(.timeLimit(.minutes(10))) struct OAuthActionTests {
    private func request(
        _ principal: String,
        of provider: String = "google",
        user: UserID? = nil,
        profile: [(name: FieldName, value: RecordValue)] = []
    ) -> OAuthIdentityRequest {
        OAuthIdentityRequest(
            provider: provider,
            principalID: principal,
            tokenResponse: JSONText(validated: Array(#"{"access_token":"at-1"}"#.utf8)),
            providerProfile: JSONText(validated: Array(#"{"name":"Ann","locale":"de","extra":[1]}"#.utf8)),
            user: user,
            profile: profile
        )
    }

    @Test func anIdentitySignsUpOnceAndLogsIn() async throws {
        try await withService { fixture in
            let service = fixture.service
            try await expectError(.invalidCredentials) { try await service.logInOAuth(request("1")) }
            let made = try await service.signUpOAuth(
                request("1", profile: [(try FieldName("city"), "Graz"), (try FieldName("username"), "ann")])
            )
            #expect(made.isNew == nil)
            #expect(
                try await fixture.psql("SELECT city, username IS NULL, profile FROM \"user\", _identity")
                    == #"Graz|t|{"name": "Ann", "extra": [1], "locale": "de"}"#
            )
            try await expectError(.invalidArgument) { try await service.signUpOAuth(request("1")) }
            let again = try await service.logInOAuth(request("1"))
            #expect(again.userID == made.userID)
            let tokens = try await service.tokens(of: "google", by: Caller(kind: .master(actingAs: made.userID)))
            #expect(String(decoding: tokens.response.utf8, as: UTF8.self) == #"{"access_token":"at-1"}"#)
            #expect(try await fixture.psql("SELECT count(*) FROM _user") == "1")
        }
    }

    @Test func aUserIsLinkedAndUnlinked() async throws {
        try await withService { fixture in
            let service = fixture.service
            let ann = try await service.signUp(SignUpRequest(authData: ["username": "ann"], password: "secret"))
            let bob = try await service.signUp(SignUpRequest())
            let master = ServiceFixture.masterCaller
            try await service.linkOAuth(request("1"), with: ann.userID, by: master)
            for (principal, user) in [("1", ann.userID), ("1", bob.userID), ("2", ann.userID)] {
                try await expectError(.invalidArgument) {
                    try await service.linkOAuth(request(principal), with: user, by: master)
                }
            }
            try await expectError(.resourceNotFound) {
                try await service.linkOAuth(request("3"), with: UserID("none"), by: master)
            }
            #expect(try await service.logInOAuth(request("1")).userID == ann.userID)
            try await expectError(.resourceNotFound) {
                try await service.unlinkOAuth("facebook", from: ann.userID, by: master)
            }
            try await expectError(.resourceNotFound) {
                try await service.unlinkOAuth("google", from: UserID("none"), by: master)
            }
            try await service.unlinkOAuth("google", from: ann.userID, by: master)
            try await expectError(.invalidCredentials) { try await service.logInOAuth(request("1")) }
            // The last way in stays.
            try await service.linkOAuth(request("4"), with: bob.userID, by: master)
            try await expectError(.constraintViolated) {
                try await service.unlinkOAuth("google", from: bob.userID, by: master)
            }
        }
    }

    @Test func aLargeProfileIsKeptInPart() {
        let long = #"{"name":"Ann","bio":"\#(String(repeating: "x", count: 5000))","email":"a@example.org"}"#
        let kept = ProviderProfile.bounded(JSONText(validated: Array(long.utf8)))
        #expect(String(decoding: kept.utf8, as: UTF8.self) == #"{"name":"Ann","email":"a@example.org"}"#)
        let short = JSONText(validated: Array(#"{"bio":"x"}"#.utf8))
        #expect(ProviderProfile.bounded(short) == short)
    }
}
