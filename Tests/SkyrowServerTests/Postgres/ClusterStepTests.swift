import Testing

@testable import SkyrowServer
@testable import SkyrowSystem

@Suite struct ClusterStepTests {
    static func observation(
        _ contents: ClusterObservation.Contents,
        hasServiceRole: Bool = true,
        isOwn: Bool = true,
        recorded: Int32? = nil,
        occupants: Set<Int32> = [],
        installed: [Int] = [15]
    ) -> ClusterObservation {
        ClusterObservation(
            contents: contents,
            hasServiceRole: hasServiceRole,
            isOwn: isOwn,
            recordedServer: recorded,
            occupants: occupants,
            installedVersions: installed
        )
    }

    @Test(arguments: [
        (observation(.nothing), ClusterStep.initialize(majorVersion: 15)),
        (observation(.nothing, isOwn: false), .initialize(majorVersion: 15)),
        (observation(.nothing, installed: [15, 17, 16]), .initialize(majorVersion: 17)),
        (observation(.cluster(majorVersion: 15)), .start(majorVersion: 15)),
        (observation(.cluster(majorVersion: 15), installed: [17, 15]), .start(majorVersion: 15)),
        // An earlier version made it; a server that still runs is ended first.
        (observation(.cluster(majorVersion: 15), hasServiceRole: false), .separateRoles(majorVersion: 15)),
        (observation(.cluster(majorVersion: 15), hasServiceRole: false, recorded: 7, occupants: [7]), .stopServer(7)),
        // A server of an earlier service runs, with its children.
        (observation(.cluster(majorVersion: 15), recorded: 7, occupants: [7, 8, 9]), .stopServer(7)),
        // It was killed and its children are still on their way out.
        (observation(.cluster(majorVersion: 15), recorded: 7, occupants: [8, 9]), .awaitProcesses([8, 9])),
        (observation(.cluster(majorVersion: 15), occupants: [8]), .awaitProcesses([8])),
        // It was killed and nothing is left but its record.
        (observation(.cluster(majorVersion: 15), recorded: 7), .removeServerRecord),
    ])
    func theNextStepFollowsFromWhatWasFound(observation: ClusterObservation, step: ClusterStep) throws {
        #expect(try ClusterStep.next(after: observation, at: "/srv/data/postgres") == step)
    }

    @Test(arguments: [
        (observation(.nothing, installed: []), "not installed"),
        (observation(.cluster(majorVersion: 15), installed: []), "apt-get install postgresql"),
        (observation(.cluster(majorVersion: 13), installed: [15]), "apt-get install postgresql-13"),
        (observation(.cluster(majorVersion: 15), isOwn: false), "belongs to another user"),
        (observation(.foreign), "is not a PostgreSQL cluster"),
    ])
    func whatCannotStartIsRefusedWithAWayOut(observation: ClusterObservation, words: String) {
        let error = #expect(throws: ToolError.self) {
            try ClusterStep.next(after: observation, at: "/srv/data/postgres")
        }
        #expect(error?.description.contains(words) == true)
        #expect(error?.status == .failure)
    }

    @Test func aLongPathIsReachedThroughItsDescriptor() {
        let long = "/srv/" + String(repeating: "a", count: 100)
        #expect(DatabaseAddress(cluster: "/srv/data/postgres", folder: 7).socketDirectory == "/srv/data/postgres")
        #expect(DatabaseAddress(cluster: long, folder: 7).socketDirectory == "/proc/self/fd/7")
        // 107 bytes with "/.s.PGSQL.5432" at the end.
        let longest = "/" + String(repeating: "b", count: 92)
        #expect(DatabaseAddress(cluster: longest, folder: 7).socketDirectory == longest)
        #expect(DatabaseAddress(cluster: longest + "b", folder: 7).socketDirectory == "/proc/self/fd/7")
    }

    @Test func onThePortNobodyIsTrusted() {
        let rules =
            "# local of a comment\nlocal   all all peer map=x\n  local\tskyrow all trust\nhost all all 127.0.0.1/32 trust\n"
        let text = HostRules.text(localRulesOf: rules)
        let lines = text.split(separator: "\n").filter { !$0.hasPrefix("#") }
        #expect(
            lines == [
                "local   all all peer map=x", "  local\tskyrow all trust",
                "host all skyrow,skyrow_replication 127.0.0.1/32 reject", "host skyrow all 127.0.0.1/32 scram-sha-256",
            ]
        )
    }

    @Test(arguments: [
        (nil, "", false), (1 << 40, "", false), (1 << 40, "could not write: No space left on device", true),
        (1 << 40, "initdb: error: Disk quota exceeded", true), (5 << 20, "", true),
    ])
    func aFullDiskIsNamed(room: Int?, log: String, isNamed: Bool) {
        let advice = EmbeddedCluster.advice(room: room, log: log, at: "/srv/data")
        #expect(advice.contains("The disk of /srv/data is full") == isNamed)
        #expect(isNamed || advice.isEmpty)
    }

    @Test func aConnectionStringQuotesItsPath() {
        let address = DatabaseAddress(cluster: #"/srv/it's \ here"#, folder: 7)
        #expect(address.connection().hasPrefix(#"host='/srv/it\'s \\ here' port=5432"#))
    }
}
