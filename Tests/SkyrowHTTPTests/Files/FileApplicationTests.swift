import SkyrowModel
import SkyrowPostgres
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions
@testable import SkyrowHTTP

/// Files of an application that neither a key nor a host names.
@Suite struct FileApplicationTests {
    private static let gif = "GIF89a, and the rest of an image"

    /// Runs a server before the applications of a registry, none of which but the default one is open.
    private func withApplications(
        of registry: ApplicationRegistry,
        _ client: PostgresClient,
        storage: TestFileStorage,
        _ body: (Int, Applications) async throws -> Void
    ) async throws {
        let applications = Applications(registry: registry, logger: .silent) { registered in
            let name = registered?.name ?? .default
            let store = RecordStore(
                client: client,
                schema: registered?.schema ?? "app",
                mode: .development,
                rulesPatience: testPatience,
                logger: .silent
            )
            try await store.prepare()
            let files = FileConfiguration(
                storage: storage,
                urlPrefix: TestUpload.prefix,
                uploads: .key,
                application: name
            )
            let configuration = ServiceConfiguration(files: files)
            return Applications.Opened(
                actions: ActionService(store: store, configuration: configuration, application: name, logger: .silent)
            )
        }
        try await applications.prepare()
        do {
            try await withServer(ServiceResponder(applications: applications, logger: .silent)) { server in
                try await body(server.port, applications)
            }
        } catch {
            await close(applications)
            throw error
        }
        await close(applications)
    }

    private func close(_ applications: Applications) async {
        for (_, opened) in applications.allOpen {
            opened.upkeep?.cancel()
            await opened.upkeep?.value
        }
    }

    private func send(
        _ method: String,
        _ path: String,
        _ body: String? = nil,
        key: String? = nil,
        type: String? = nil,
        port: Int
    ) async throws -> RawResponse {
        try await withConnection(port: port) { connection in
            let headers = type.map { [("Content-Type", $0)] } ?? []
            try await connection.send(TestService.head(method, path, body, key: key, headers: headers) + (body ?? ""))
            return try await connection.response()
        }
    }

    @Test func aSignedAddressNamesItsApplication() async throws {
        let storage = try TestFileStorage()
        try await withActions { actions, _ in
            let client = actions.store.client
            let registry = ApplicationRegistry(client: client, defaultSchema: "app", logger: .silent)
            let (key, created) = NewApplicationKey.random(.api)
            try await registry.create(ApplicationName("shop"), schema: "shop", keys: [created])
            try await registry.create(ApplicationName("shut"), schema: "shut", keys: [])
            try await registry.setDisabled(true, ApplicationName("shut"))

            var file: TestUpload?
            var action = ""
            let content = Self.gif + String(repeating: "x", count: 100_000)
            try await withApplications(of: registry, client, storage: storage) { port, _ in
                let path = "/files?filename=a.gif"
                file = try TestUpload(try await send("POST", path, Self.gif, key: key, type: "image/gif", port: port))
                let announcement =
                    #"{"filename":"b.gif","content-type":"image/gif","content-size":\#(content.utf8.count)}"#
                let announced = try await send("POST", "/asset/put", announcement, key: key, port: port)
                action = try #require(JSONValue(announced.body)["result"]["post-request"]["action"].string)
            }
            let signed = try #require(file?.signed)
            #expect(signed.hasSuffix("&application=shop"))
            #expect(action.hasSuffix("&application=shop"))
            let bare = signed.dropLast("&application=shop".count)

            // The first request opens the application.
            let form = TestForm().file(content).body
            try await withApplications(of: registry, client, storage: storage) { port, applications in
                #expect(applications.allOpen.map(\.name) == [.default])
                let uploaded = try await send("POST", action, form, type: TestForm.contentType, port: port)
                #expect(uploaded.status == 200, "\(uploaded.body)")
                #expect(applications.allOpen.count == 2)
            }
            let rows: [(path: String, status: Int, code: Int?)] = [
                (signed, 200, nil), ("\(bare)", 401, 106), ("\(bare)&application=app", 401, 106),
                ("\(bare)&application=nothing", 401, 106), ("\(bare)&application=%2e%2e", 401, 106),
                ("\(bare)&application=shut", 401, 103),
            ]
            try await withApplications(of: registry, client, storage: storage) { port, _ in
                for row in rows {
                    let response = try await send("GET", row.path, port: port)
                    #expect(response.status == row.status, "\(row): \(response.body)")
                    if let code = row.code {
                        #expect(try JSONValue(response.body)["error"]["code"].integer == code, "\(row)")
                    } else {
                        #expect(response.body == Self.gif)
                    }
                }
                // A key is more than a query.
                let response = try await send("GET", "\(bare)&application=nothing", key: key, port: port)
                #expect(response.status == 200)
            }
        }
    }
}
