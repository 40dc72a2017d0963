import SkyrowActions
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowHTTP

/// Which calls take that the user has proved who it is, at both endpoints.
@Suite(.timeLimit(.minutes(60))) struct StepUpEndpointTests {
    private static let logIn = #"{"auth_data":{"username":"ann"},"password":"a long secret"}"#

    private func session(_ service: TestService) async throws -> String {
        let result = try await service.call("auth:login", Self.logIn)["result"]
        return try #require(result["access_token"].string)
    }

    @Test func whatTheCatalogSaysIsAskedFor() async throws {
        try await withService { service in
            _ = try await service.signUp("ann")
            let token = try await session(service)
            for (parameters, code) in [
                (#"{"ids":[]}"#, nil), (#"{"all":true}"#, 138), (#"{"all":true,"except_current":true}"#, 138),
            ] as [(String, Int64?)] {
                let response = try await service.call("session:revoke", parameters, key: nil, token: token)
                #expect(response["error"]["code"].integer == code.map { Int($0) }, "\(parameters)")
            }
            let v1 = try await service.v1("/session/revoke", #"{"action":"session:revoke","all":true}"#, token: token)
            #expect(v1.status == 403)
            let error = try JSONValue(v1.body)["error"]
            #expect(error["name"].string == "StepUpRequired" && error["info"]["max_age"].integer == 600)
            #expect(error["info"]["methods"].elements.map(\.string) == ["password"])
            let proof = try await service.v1(
                "/auth/stepup",
                #"{"action":"auth:stepup","password":"a long secret"}"#,
                token: token
            )
            #expect(proof.status == 200)
            let revoked = try await service.call("session:revoke", #"{"all":true}"#, key: nil, token: token)
            #expect(revoked["result"]["revoked"].integer == 2)
        }
    }

    /// Its result has recovery codes, which would be a proof themselves.
    @Test func aSecondFactorIsAddedByOneWhoHasProvedWhoItIs() async throws {
        try await withService { service in
            let (_, fresh) = try await service.signUp("ann")
            let token = try await session(service)
            // The user's own enrolment waits.
            #expect(try await service.call("auth:totp:enrol", "{}", key: nil, token: fresh)["error"] == .null)
            let code = #"{"code":"000000"}"#
            for method in ["auth:totp:enrol", "auth:totp:confirm", "auth:totp:remove"] {
                let refused = try await service.call(method, code, key: nil, token: token)
                #expect(refused["error"]["code"].integer == 138, "\(method)")
            }
            let wrong = try await service.call("auth:totp:confirm", #"{"code":"none"}"#, key: nil, token: fresh)
            #expect(wrong["error"]["code"].integer == 105)
        }
    }

    @Test func theSettingAddsActions() async throws {
        try await withService(stepUp: ["record:delete", "record:query"]) { service in
            let (id, fresh) = try await service.signUp("ann")
            let token = try await session(service)
            let (delete, query) = (#"{"ids":["note/1"]}"#, #"{"record_type":"user"}"#)
            for (method, parameters) in [("record:delete", delete), ("record:query", query)] {
                let refused = try await service.call(method, parameters, token: token)
                #expect(refused["error"]["code"].integer == 138, "\(method)")
                let done = try await service.call(method, parameters, token: fresh)
                #expect(done["error"] == .null, "\(method)")
                let acting = #"{"_user_id":"\#(id)","# + parameters.dropFirst()
                let master = try await service.call(method, acting, key: TestService.masterKey)
                #expect(master["error"] == .null, "\(method)")
            }
            // One who is not logged in has nothing to prove it with.
            let anonymous = try await service.call("record:query", query)
            #expect(anonymous["error"]["code"].integer == 101)
            let fetched = try await service.call("record:fetch", delete, token: token)
            #expect(fetched["error"] == .null)
        }
    }

    /// A client of v1 changes the password with the old one, as it always did.
    @Test func theOldPasswordIsProofEnoughForANewOne() async throws {
        try await withService { service in
            _ = try await service.signUp("ann")
            let token = try await session(service)
            let changed = try await service.v1(
                "/auth/password",
                #"{"action":"auth:password","old_password":"a long secret","password":"another secret"}"#,
                token: token
            )
            #expect(changed.status == 200)
        }
    }
}
