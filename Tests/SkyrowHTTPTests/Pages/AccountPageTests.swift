import Foundation
import SkyrowActions
import SkyrowModel
import SkyrowRemote
import SkyrowTestSupport
import Testing

@testable import SkyrowHTTP

/// The pages of the links in mails, as a browser without scripts uses them.
@Suite struct AccountPageTests {
    private func withPages(
        looks: PageLooks = PageLooks(),
        rateLimits: RateLimits = .none,
        test: String = #function,
        _ body: (TestService, MemoryMailTransport) async throws -> Void
    ) async throws {
        let transport = MemoryMailTransport()
        try await withService(
            rateLimits: rateLimits,
            mail: .toMemory(transport, looks: looks),
            verification: .optional,
            test: test
        ) { service in
            try await body(service, transport)
        }
    }

    private func get(_ service: TestService, _ path: String, host: String = "evil.example") async throws -> RawResponse
    {
        try await withConnection(port: service.port) { connection in
            try await connection.send("GET \(path) HTTP/1.1\r\nHost: \(host)\r\n\r\n")
            return try await connection.response()
        }
    }

    private func post(_ service: TestService, _ path: String, _ fields: [(String, String)]) async throws -> RawResponse
    {
        let body = fields.map { name, value in
            let encoded = value.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
            return "\(name)=\(encoded)"
        }.joined(separator: "&")
        return try await withConnection(port: service.port) { connection in
            try await connection.send(
                """
                POST \(path) HTTP/1.1\r\nHost: evil.example\r\nContent-Type: application/x-www-form-urlencoded\r\n\
                Content-Length: \(body.utf8.count)\r\n\r\n\(body)
                """
            )
            return try await connection.response()
        }
    }

    /// The value of a hidden field.
    private func field(_ name: String, _ page: RawResponse) throws -> String {
        let parts = page.body.components(separatedBy: "name=\"\(name)\" value=\"")
        return try #require(parts.dropFirst().first?.components(separatedBy: "\"").first)
    }

    private func signUp(_ service: TestService) async throws -> (id: String, token: String) {
        let response = try await service.call(
            "auth:signup",
            #"{"auth_data":{"username":"ann","email":"ann@example.org"},"password":"a long secret"}"#
        )
        return (
            try #require(response["result"]["user_id"].string), try #require(response["result"]["access_token"].string)
        )
    }

    @Test func theLinkOfAMailSetsANewPassword() async throws {
        try await withPages { service, transport in
            let ann = try await signUp(service)
            _ = try await transport.message(0)
            try await service.database.psql(
                "UPDATE app_internal._mail SET created_at = created_at - interval '61 seconds'"
            )
            _ = try await service.call("auth:reset:request", #"{"email":"ann@example.org"}"#)
            let mail = try await transport.message(1)
            // The link is where the service says it is, whatever host a request names.
            let prefix = "https://api.example.org"
            let link = try #require(mail.text.split(separator: "\n").first { $0.hasPrefix(prefix) })
            let path = String(link.dropFirst(prefix.count))
            // Programs that look after mail follow links, time and again.
            for _ in 0..<3 { _ = try await get(service, path) }
            let page = try await get(service, path)
            #expect(page.status == 200)
            #expect(
                page.body.contains("<label for=\"password\">") && page.body.contains("autocomplete=\"new-password\"")
            )
            #expect(page.body.contains("Tom &amp; Jerry&#39;s") && !page.body.contains("Tom & Jerry"))
            for forbidden in ["<script", "javascript:", "onclick", "style="] {
                #expect(!page.body.contains(forbidden))
            }
            let code = try field("code", page)
            let form = try field("form", page)
            #expect(code == mail.linkCode)

            let different = try await post(
                service,
                path,
                [("code", code), ("form", form), ("password", "another one"), ("repeat", "yet another")]
            )
            #expect(different.status == 400)
            #expect(different.body.contains("role=\"alert\">The two passwords differ."))
            #expect(different.body.contains("aria-describedby=\"error\"") && different.body.contains("<title>Error: "))
            let short = try await post(
                service,
                path,
                [("code", code), ("form", form), ("password", "short"), ("repeat", "short")]
            )
            #expect(short.status == 400 && short.body.contains("at least 8 characters"))
            for page in [different, short] { #expect(!page.body.contains("another one")) }

            let again = try field("form", short)
            let done = try await post(
                service,
                path,
                [("code", code), ("form", again), ("password", "another secret"), ("repeat", "another secret")]
            )
            #expect(done.status == 200)
            #expect(done.body.contains("role=\"status\">The new password is set."))
            #expect(!done.body.contains("<form"))
            let ended = try await service.call("me", "{}", token: ann.token)
            #expect(ended["error"]["code"].integer == 104)
            let login = try await service.call(
                "auth:login",
                #"{"auth_data":{"username":"ann"},"password":"another secret"}"#
            )
            #expect(login["result"]["user_id"].string == ann.id)
            // A page opens no session.
            let sessions = try await service.database.psql("SELECT count(*) FROM app_internal._session")
            #expect(sessions == "1")
            let used = try await post(
                service,
                path,
                [("code", code), ("form", again), ("password", "a third secret"), ("repeat", "a third secret")]
            )
            #expect(used.status == 400 && used.body.contains("The code is not valid. Request a new one."))
        }
    }

    @Test func theLinkOfAMailConfirmsAnAddress() async throws {
        try await withPages { service, transport in
            _ = try await signUp(service)
            let code = try await transport.message(0).linkCode
            let path = "/auth/verify?code=\(code)"
            let page = try await get(service, path)
            #expect(page.status == 200 && page.body.contains("<button type=\"submit\">Confirm</button>"))
            func verified() async throws -> String {
                try await service.database.psql("SELECT coalesce(verified_email, '-') FROM app_internal._user")
            }
            let state11 = try await verified()
            #expect(state11 == "-")
            let fields = [("code", code), ("form", try field("form", page))]
            let done = try await post(service, "/auth/verify", fields)
            #expect(done.status == 200 && done.body.contains("The address is confirmed."))
            let state12 = try await verified()
            #expect(state12 == "ann@example.org")
            let used = try await post(service, "/auth/verify", fields)
            #expect(used.status == 400)
        }
    }

    @Test func theLinkToAFormerAddressGivesTheAccountBack() async throws {
        try await withPages { service, transport in
            let ann = try await signUp(service)
            _ = try await service.call(
                "auth:verify:confirm",
                #"{"code":"\#(try await transport.message(0).linkCode)"}"#
            )
            let ticket = try await service.call(
                "auth:email:change",
                #"{"email":"thief@example.org","password":"a long secret"}"#,
                token: ann.token
            )
            let handle = try #require(ticket["result"]["handle"].string)
            let digits = try await transport.message(1).digits
            let changed = try await service.call(
                "auth:email:confirm",
                #"{"code":"\#(digits)","handle":"\#(handle)"}"#,
                token: ann.token
            )
            #expect(changed["error"] == .null)
            let code = try await transport.message(2).linkCode
            let path = "/auth/undo?code=\(code)"
            // Programs that look after mail follow links, which changes nothing.
            for _ in 0..<3 { _ = try await get(service, path) }
            func address() async throws -> String {
                try await service.database.psql(#"SELECT email FROM app."user""#)
            }
            let before = try await address()
            #expect(before == "thief@example.org")
            let page = try await get(service, path)
            #expect(page.status == 200 && page.body.contains("<button type=\"submit\">Undo the change</button>"))
            #expect(page.body.contains("<title>Recover your account") && !page.body.contains("<script"))
            let foreign = try field("form", try await get(service, "/auth/verify?code=\(code)"))
            let refused = try await post(service, "/auth/undo", [("code", code), ("form", foreign)])
            #expect(refused.status == 400)
            let still = try await address()
            #expect(still == "thief@example.org")
            let fields = [("code", code), ("form", try field("form", page))]
            let done = try await post(service, "/auth/undo", fields)
            #expect(done.status == 200 && done.body.contains("role=\"status\">The account has this address again."))
            let after = try await address()
            #expect(after == "ann@example.org")
            let ended = try await service.call("me", "{}", token: ann.token)
            #expect(ended["error"]["code"].integer == 104)
            let used = try await post(service, "/auth/undo", fields)
            #expect(used.status == 400 && used.body.contains("The code is not valid."))
        }
    }

    /// Another site's form, and one for another page or code, does nothing.
    @Test func aFormThatTheServiceHasNotMadeDoesNothing() async throws {
        try await withPages { service, transport in
            _ = try await signUp(service)
            let code = try await transport.message(0).linkCode
            let other = try field("form", try await get(service, "/auth/verify?code=other"))
            let reset = try field("form", try await get(service, "/auth/reset?code=\(code)"))
            let own = try field("form", try await get(service, "/auth/verify?code=\(code)"))
            let parts = own.split(separator: ".")
            let seconds = try #require(Int(parts[0]))
            for form in ["", "1.2", other, reset, "\(seconds - 1).\(parts[1])", "\(seconds).\(parts[1])x", "x\(own)"] {
                let response = try await post(service, "/auth/verify", [("code", code), ("form", form)])
                #expect(response.status == 400 && response.body.contains("This form has expired. Try again."))
            }
            let verified = try await service.database.psql("SELECT count(verified_email) FROM app_internal._user")
            #expect(verified == "0")
            let done = try await post(service, "/auth/verify", [("code", code), ("form", own)])
            #expect(done.status == 200)
        }
    }

    @Test func anIncompleteLinkIsSaidToBeSo() async throws {
        try await withPages { service, _ in
            for path in [
                "/auth/verify", "/auth/reset", "/auth/verify?code=", "/auth/verify?code=%22%3E%3Cscript%3E",
                "/auth/reset?code=a+b",
                "/auth/reset?code=%FF", "/auth/reset?other=1",
            ] {
                for response in [try await get(service, path), try await post(service, path, [("code", "<b>")])] {
                    #expect(response.status == 400, "\(path)")
                    #expect(response.body.contains("This link is incomplete."), "\(path)")
                    #expect(
                        !response.body.contains("<form") && !response.body.contains("<script")
                            && !response.body.contains("<b>")
                    )
                }
            }
        }
    }

    @Test func everyPageForbidsWhatItDoesNotNeed() async throws {
        let looks = PageLooks(style: Array("h1 { color: red; }".utf8), logo: (bytes: [1, 2, 3], type: "image/png"))
        try await withPages(looks: looks) { service, _ in
            for path in [
                "/auth/verify?code=abc", "/auth/reset?code=abc", "/auth/undo?code=abc", "/auth/reset",
                "/auth/style.css", "/auth/logo",
            ] {
                let response = try await get(service, path)
                let policy = response["content-security-policy"] ?? ""
                for rule in [
                    "default-src 'none'", "style-src 'self'", "img-src 'self'", "form-action 'self'",
                    "frame-ancestors 'none'",
                ] {
                    #expect(policy.contains(rule), "\(path)")
                }
                #expect(response["referrer-policy"] == "no-referrer")
                #expect(response["cache-control"] == "no-store")
                #expect(response["x-content-type-options"] == "nosniff")
                #expect(response["set-cookie"] == nil)
            }
            let style = try await get(service, "/auth/style.css")
            #expect(style.body == "h1 { color: red; }" && style["content-type"] == "text/css; charset=utf-8")
            let found1 = try await get(service, "/auth/logo")
            #expect(found1["content-type"] == "image/png")
            let found2 = try await get(service, "/auth/reset?code=abc")
            #expect(found2.body.contains("<img src=\"logo\" alt=\"\">"))
        }
    }

    @Test func withoutMailThereAreNoPages() async throws {
        try await withService { service in
            for path in [
                "/auth/verify?code=a", "/auth/reset?code=a", "/auth/undo?code=a", "/auth/style.css", "/auth/logo",
            ] {
                let found3 = try await get(service, path)
                #expect(found3.status == 404)
            }
        }
        try await withPages { service, _ in
            // There is no logo unless the operator has one.
            let found4 = try await get(service, "/auth/logo")
            #expect(found4.status == 404)
            let found5 = try await get(service, "/auth/style.css")
            #expect(found5.status == 200)
        }
    }

    @Test func aFormOfAnySizeIsBounded() async throws {
        try await withPages { service, _ in
            let long = String(repeating: "x", count: 20_000)
            let response = try await post(service, "/auth/reset", [("code", long)])
            #expect(response.status == 400 && response.body.utf8.count < 4000)
        }
    }

    @Test func pagesCountAsCalls() async throws {
        let limits = RateLimits(client: nil, user: nil, login: RateLimit(2, per: .seconds(3600)))
        try await withPages(rateLimits: limits) { service, _ in
            var statuses: [Int] = []
            for _ in 0..<3 {
                statuses.append(try await post(service, "/auth/reset", [("code", "abc"), ("form", "1.2")]).status)
            }
            #expect(statuses == [400, 400, 429])
        }
    }

    /// The lambdas of Skygear's plugins, as its SDKs send them.
    @Test func lambdasOfV1AreServed() async throws {
        try await withPages { service, transport in
            let ann = try await signUp(service)
            let verification = try await transport.message(0).linkCode
            let key = #""api_key":"\#(TestService.apiKey)","access_token":"\#(ann.token)""#
            let bad = try await service.v1(
                "/",
                #"{"action":"user:verify_request","args":{"record_key":"phone"},\#(key)}"#
            )
            let parsed6 = try JSONValue(bad.body)
            #expect(parsed6["error"]["code"].integer == 108)
            let verified = try await service.v1("/user/verify_code", #"{"args":{"code":"\#(verification)"},\#(key)}"#)
            let parsed7 = try JSONValue(verified.body)
            #expect(parsed7["result"]["status"].string == "OK")
            try await service.database.psql(
                "UPDATE app_internal._mail SET created_at = created_at - interval '61 seconds'"
            )
            let asked = try await service.v1(
                "/",
                #"{"action":"user:verify_request","args":{"record_key":"email"},\#(key)}"#
            )
            let parsed8 = try JSONValue(asked.body)
            #expect(parsed8["result"]["handle"].string != nil)
            _ = try await transport.message(1)
            try await service.database.psql(
                "UPDATE app_internal._mail SET created_at = created_at - interval '61 seconds'"
            )
            let forgot = try await service.v1(
                "/user/forgot-password",
                #"{"args":{"email":"ann@example.org"},"api_key":"\#(TestService.apiKey)"}"#
            )
            let parsed9 = try JSONValue(forgot.body)
            #expect(parsed9["result"]["handle"].string != nil)
            let code = try await transport.message(2).linkCode
            let reset = try await service.v1(
                "/user/reset-password",
                """
                {"args":{"user_id":"\(ann.id)","code":"\(code)","expire_at":1,"new_password":"another secret"},\
                "api_key":"\(TestService.apiKey)"}
                """
            )
            let parsed10 = try JSONValue(reset.body)
            #expect(parsed10["result"]["user_id"].string == ann.id)
        }
    }
}
