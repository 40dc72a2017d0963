import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// Locations on the embedded PostgreSQL, where the service is no superuser and PostGIS must be made by one.
@Suite struct LocationTests {
    private static let shop = #"{"_id":"shop/1",\#(place),\#(area)}"#
    private static let place = #""place":{"$type":"geo","$lng":114.15,"$lat":22.28}"#
    private static let area = #""area":{"$type":"geojson","$val":{"type":"Point","coordinates":[114.15,22.28]}}"#

    /// The whole response, as it was sent.
    private static func answer(_ service: RunningService, _ method: String, _ parameters: String) async throws -> String
    {
        String(decoding: try await service.rpc(method, parameters, token: nil).0, as: UTF8.self)
    }

    private static func save(_ service: RunningService) async throws -> String {
        try await answer(service, "record:save", #"{"records":[\#(shop)]}"#)
    }

    private static func fetch(_ service: RunningService) async throws -> String {
        try await answer(service, "record:fetch", #"{"ids":["shop/1","shop/2"]}"#)
    }

    @Test func theFirstOneMakesTheExtensionAndABackupBringsItBack() async throws {
        let folder = try TemporaryDirectory()
        let service = try await RunningService.start(in: folder.path + "/data")
        #expect(try await Self.save(service).contains(Self.place))
        #expect(try await service.psql("SELECT ST_AsText(place) FROM shop") == "POINT(114.15 22.28)")
        #expect(
            try await service.psql(
                """
                SELECT rolname, nspname FROM pg_extension JOIN pg_roles ON pg_roles.oid = extowner
                JOIN pg_namespace ON pg_namespace.oid = extnamespace WHERE extname = 'postgis'
                """
            ) == "skyrow|postgis"
        )
        // Whose functions could be called by those of the extension.
        await #expect(throws: ServiceFailure.self) {
            try await service.psql("CREATE FUNCTION postgis.f() RETURNS int LANGUAGE sql RETURN 1")
        }
        _ = try await service.psql("INSERT INTO shop (_id, place) VALUES ('2', 'POINT(13.4 52.5)')")
        let fetched = try await Self.fetch(service)
        #expect(
            fetched.contains(Self.place) && fetched.contains(Self.area) && fetched.contains(#""$lng":13.4,"$lat":52.5"#)
        )
        #expect(await service.terminate() == .exited(0))

        let archive = folder.path + "/b.tar"
        #expect(try await Tool.run("backup", archive, "--data-directory", service.directory).status == .exited(0))
        let restored = try await Tool.run("restore", archive, "--data-directory", folder.path + "/other")
        #expect(restored.status == .exited(0), "\(restored)")
        let other = try await RunningService.start(in: folder.path + "/other")
        let copied = try await Self.fetch(other)
        #expect(copied.contains(Self.place) && copied.contains(Self.area))
        #expect(await other.terminate() == .exited(0))
    }

    /// The script of the extension runs as the superuser, and must not meet functions of another role.
    @Test func aSchemaOfTheServicesRoleIsNotUsedForTheExtension() async throws {
        try await withService { service in
            _ = try await service.psql("CREATE SCHEMA postgis")
            #expect(try await Self.save(service).contains("PostGIS, which is not installed in this database"))
            #expect(try await service.psql("SELECT count(*) FROM pg_extension WHERE extname = 'postgis'") == "0")
            _ = try await service.psql("DROP SCHEMA postgis")
            #expect(try await Self.save(service).contains(Self.place))
        }
    }
}
