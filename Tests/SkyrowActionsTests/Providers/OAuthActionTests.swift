import SkyrowJSON
import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// Skygear's `sso:oauth`, for servers of applications that ask providers themselves.
@Suite(.timeLimit(.minutes(60))) struct OAuthActionTests {
    private static let response = OAuthResponse(
        tokens: JSONText(validated: Array(#"{"access_token":"at-1"}"#.utf8)),
        profile: JSONText(validated: Array(#"{"name":"Ann","locale":"de","extra":[1]}"#.utf8))
    )

    private func principal(_ id: String) -> OAuthPrincipal { OAuthPrincipal(provider: "google", id: id) }

    private func logIn(_ id: String) -> OAuthLogIn { OAuthLogIn(principal(id), Self.response) }

    @Test func anIdentitySignsUpOnceAndLogsIn() async throws {
        try await withService { fixture in
            let service = fixture.service
            try await expectError(.invalidCredentials) { try await service.run(Actions.ssoOAuthLogIn, logIn("1")) }
            let made = try await service.run(
                Actions.ssoOAuthSignUp,
                OAuthSignUp(logIn("1"), profile: [(try FieldName("city"), "Graz"), (try FieldName("username"), "ann")])
            )
            #expect(made.isNew == nil)
            #expect(
                try await fixture.psql("SELECT city, username IS NULL, profile FROM \"user\", _identity")
                    == #"Graz|t|{"name": "Ann", "extra": [1], "locale": "de"}"#
            )
            try await expectError(.invalidArgument) {
                try await service.run(Actions.ssoOAuthSignUp, OAuthSignUp(logIn("1")))
            }
            let again = try await service.run(Actions.ssoOAuthLogIn, logIn("1"))
            #expect(again.userID == made.userID)
            let user = Caller(kind: .master(actingAs: made.userID))
            let tokens = try await service.run(Actions.authProviderToken, "google", by: user)
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
            func link(_ id: String, with user: UserID) async throws {
                try await service.run(
                    Actions.ssoOAuthLink,
                    OAuthLink(principal(id), with: user, Self.response),
                    by: master
                )
            }
            func unlink(_ provider: String, from user: UserID) async throws {
                try await service.run(Actions.ssoOAuthUnlink, OAuthUnlink(provider: provider, user: user), by: master)
            }
            try await link("1", with: ann.userID)
            for (principal, user) in [("1", ann.userID), ("1", bob.userID), ("2", ann.userID)] {
                try await expectError(.invalidArgument) { try await link(principal, with: user) }
            }
            try await expectError(.resourceNotFound) { try await link("3", with: UserID("none")) }
            #expect(try await service.run(Actions.ssoOAuthLogIn, logIn("1")).userID == ann.userID)
            try await expectError(.resourceNotFound) { try await unlink("facebook", from: ann.userID) }
            try await expectError(.resourceNotFound) { try await unlink("google", from: UserID("none")) }
            try await unlink("google", from: ann.userID)
            try await expectError(.invalidCredentials) { try await service.run(Actions.ssoOAuthLogIn, logIn("1")) }
            // The last way in stays.
            try await link("4", with: bob.userID)
            try await expectError(.constraintViolated) { try await unlink("google", from: bob.userID) }
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
