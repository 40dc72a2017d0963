import Foundation
import FoundationNetworking
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// What files may take of the disk, by the settings of a running service.
@Suite struct FileSpaceTests {
    /// The status of an upload, with an access token or the master key.
    private func upload(to service: RunningService, token: String?) async throws -> Int {
        let files = service.address.appendingPathComponent("files")
        var components = try #require(URLComponents(url: files, resolvingAgainstBaseURL: false))
        components.queryItems = [URLQueryItem(name: "filename", value: "a.txt")]
        var request = URLRequest(url: try #require(components.url))
        request.httpMethod = "POST"
        request.setValue("text/plain", forHTTPHeaderField: "Content-Type")
        if let token {
            request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization")
        } else {
            request.setValue(try service.key("SKYROW_MASTER_KEY"), forHTTPHeaderField: "X-Skygear-API-Key")
        }
        request.httpBody = Data("some text".utf8)
        let (_, response) = try await URLSession.shared.data(for: request)
        return try #require(response as? HTTPURLResponse).statusCode
    }

    @Test func uploadsStopAtTheQuotaAndBeforeTheDiskIsFull() async throws {
        // No disk has as much space.
        let limits = ["--file-quota", "100", "--file-free-space", "\(1 << 50)"]
        try await withService(arguments: ["--development"] + limits) { service in
            let signUp = try await service.call(
                "auth:signup",
                #"{"auth_data":{"username":"ann"},"password":"a long secret"}"#
            )
            let account = try JSONSerialization.jsonObject(with: Data(signUp.utf8)) as? [String: Any]
            let ann = try #require(account?["access_token"] as? String)
            #expect(try await upload(to: service, token: ann) == 507)
            for (size, token, isAnnounced) in [(101, ann, false), (100, ann, true), (1, ann, false), (101, nil, true)]
                as [(Int, String?, Bool)]
            {
                let (data, _) = try await service.rpc(
                    "asset:put",
                    #"{"filename":"a.txt","content-type":"text/plain","content-size":\#(size)}"#,
                    token: token
                )
                let text = String(decoding: data, as: UTF8.self)
                #expect(text.contains(isAnnounced ? "post-request" : "AssetSizeTooLarge"), "\(text)")
            }
            #expect(try await upload(to: service, token: ann) == 413)
            #expect(try await upload(to: service, token: nil) == 507)
            #expect(try await service.saveNote("after") == "after")
            let files = try await service.psql("SELECT state, count(*) FROM app_internal._asset GROUP BY state")
            #expect(files == "expected|2")
        }
    }
}
