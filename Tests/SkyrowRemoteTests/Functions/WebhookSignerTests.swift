import Foundation
import Testing

@testable import SkyrowRemote

@Suite struct WebhookSignerTests {
    /// The vectors of the libraries of Standard Webhooks.
    @Test(arguments: [
        (
            "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330,
            #"{"test": 2432232314}"#, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
        ),
        (
            "C2FVsBQIhrscChlQIMV+b5sSYspob7oD", "msg_27UH4WbU6Z5A5EzD8u03UvzRbpk", 1_649_367_553,
            #"{"email":"test@example.com","username":"test_user"}"#, "v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw="
        ),
    ])
    func signaturesAreThoseOfStandardWebhooks(
        _ secret: String,
        _ id: String,
        _ timestamp: Int64,
        _ body: String,
        _ signature: String
    ) throws {
        let key = try #require(Data(base64Encoded: secret))
        let fields = WebhookSigner(secret: Array(key)).fields(id: id, timestamp: timestamp, body: Array(body.utf8))
        #expect(fields == ["webhook-id: \(id)", "webhook-timestamp: \(timestamp)", "webhook-signature: \(signature)"])
    }

    @Test func eachServerHasItsSecret() {
        func signature(_ server: String, _ masterKey: String) -> String? {
            WebhookSigner(secret: WebhookSigner.secret(ofServer: server, masterKey: masterKey)).fields(
                id: "m",
                timestamp: 1,
                body: []
            ).last
        }
        #expect(signature("main", "k") == signature("main", "k"))
        #expect(signature("main", "k") != signature("mail", "k"))
        #expect(signature("main", "k") != signature("main", "l"))
    }
}
