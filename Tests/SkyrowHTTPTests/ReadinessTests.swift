import SkyrowHTTP
import SkyrowTestSupport
import Testing

@Suite struct ReadinessTests {
    @Test func theServiceIsReadyExactlyWhilePostgreSQLIsThere() async throws {
        let cluster = try await TemporaryCluster.start()
        try await withService(on: cluster) { service in
            func status(_ path: String) async throws -> Int {
                try await withConnection(port: service.port) { connection in
                    try await connection.get(path)
                    return try await connection.response().status
                }
            }
            #expect(try await status("/readyz") == 200)
            #expect(try await status("/healthz") == 200)

            try await cluster.stop(mode: "immediate")
            try await waiting(until: "the service is not ready") { try await status("/readyz") != 200 }
            #expect(try await status("/readyz") == 503)
            #expect(try await status("/healthz") == 200)

            try await cluster.launch()
            try await waiting(until: "the service is ready") { try await status("/readyz") != 503 }
            #expect(try await service.v1("/record/fetch", #"{"ids":["note/1"]}"#).status == 200)
        }
    }

    @Test(arguments: ["/healthz", "/readyz"])
    func healthIsForReading(path: String) async throws {
        try await withService { service in
            try await withConnection(port: service.port) { connection in
                try await connection.get(path, method: "HEAD")
                #expect(try await connection.response(toHead: true).status == 200)
                try await connection.get(path, method: "POST")
                let response = try await connection.response()
                #expect(response.status == 405)
                #expect(response["allow"] == "GET, HEAD, OPTIONS")
            }
        }
    }
}
