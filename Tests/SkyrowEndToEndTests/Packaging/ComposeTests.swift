import Foundation
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowHTTP
@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// The compose files stay true without an engine that runs them; `docker/try` runs them.
@Suite struct ComposeTests {
    static let files = ["docker/compose.yaml", "docker/production/compose.yaml"]

    /// Where the containers of a file find what `docker/make-keys` makes.
    static func loadSettings(_ service: [String: Any], keys: String) throws -> Settings {
        let environment = (service["environment"] as? [String: String] ?? [:]).mapValues { value in
            value.replacing(#/^/run/(keys|secrets)//#) { _ in keys + "/" }
        }
        return try Settings(SettingSources(flags: [:], environment: environment))
    }

    static func makeKeys(in folder: String) async throws -> Tool.Result {
        try await Tool.run(words: ["\(ImportTests.project)/docker/make-keys", folder])
    }

    @Test(arguments: files) func theServiceStartsWithTheSettingsOfTheFile(path: String) async throws {
        let file = try await ComposeFile(path)
        let folder = try TemporaryDirectory()
        #expect(try await Self.makeKeys(in: folder.path).status == .exited(0))
        #expect(!file.skyrowServices.isEmpty)
        for (name, service) in file.skyrowServices {
            let settings = try Self.loadSettings(service, keys: folder.path)
            #expect(!settings.keys.apiKey.isEmpty && !settings.keys.masterKey.isEmpty, "\(name)")
            let url = try #require(settings.database.url)
            let host = try #require(URL(string: url)?.host)
            #expect(file.services.keys.contains(host), "\(name)")
        }
    }

    @Test func onlyTheFirstStackIsInDevelopmentMode() async throws {
        let folder = try TemporaryDirectory()
        _ = try await Self.makeKeys(in: folder.path)
        for (path, isDevelopment) in zip(Self.files, [true, false]) {
            for service in try await ComposeFile(path).skyrowServices.values {
                let settings = try Self.loadSettings(service, keys: folder.path)
                #expect(settings.records.isDevelopment == isDevelopment)
            }
        }
    }

    @Test(arguments: files) func everythingThatAServiceNamesIsThere(path: String) async throws {
        let file = try await ComposeFile(path)
        for (name, service) in file.services {
            for volume in service.texts("volumes") {
                let source = String(volume.prefix { $0 != ":" })
                let isThere =
                    source.hasPrefix(".")
                    ? FileManager.default.fileExists(atPath: "\(file.folder)/\(source)")
                    : file.names(of: "volumes").contains(source)
                #expect(isThere, "\(name): \(source)")
            }
            #expect(file.names(of: "secrets").isSuperset(of: service.texts("secrets")), "\(name)")
            #expect(file.names(of: "networks").isSuperset(of: service.texts("networks")), "\(name)")
            let dependencies = (service["depends_on"] as? [String: Any]).map { Array($0.keys) }
            #expect(Set(file.services.keys).isSuperset(of: dependencies ?? service.texts("depends_on")), "\(name)")
            if let build = service["build"] as? [String: String] {
                let (context, dockerfile) = try (#require(build["context"]), #require(build["dockerfile"]))
                for path in ["Package.swift", dockerfile] {
                    #expect(FileManager.default.fileExists(atPath: "\(file.folder)/\(context)/\(path)"), "\(name)")
                }
            }
        }
    }

    @Test(arguments: files) func theServiceHasNoMoreRightsThanItNeeds(path: String) async throws {
        let times = try Settings.default.times
        for (name, service) in try await ComposeFile(path).skyrowServices {
            #expect(service["read_only"] as? Bool == true, "\(name)")
            #expect(service.texts("cap_drop") == ["ALL"], "\(name)")
            #expect(service.texts("security_opt") == ["no-new-privileges:true"], "\(name)")
            #expect(service["user"] == nil && service["privileged"] == nil, "\(name)")
            let grace = try #require((service["stop_grace_period"] as? String).flatMap { DurationText.duration($0) })
            #expect(grace > times.shutdown, "\(name)")
        }
    }

    @Test func onlyTheProxyIsReachedFromElsewhere() async throws {
        let local = try await ComposeFile(Self.files[0])
        for service in local.services.values {
            #expect(service.texts("ports").allSatisfy { $0.hasPrefix("127.0.0.1:") })
        }
        let production = try await ComposeFile(Self.files[1])
        #expect(production.services.filter { !$0.value.texts("ports").isEmpty }.keys.sorted() == ["proxy"])
    }

    @Test func theServiceBelievesTheNetworkThatItSharesWithTheProxyAlone() async throws {
        let file = try await ComposeFile(Self.files[1])
        let members = file.services.filter { $0.value.texts("networks").contains("service") }
        #expect(members.keys.sorted() == ["proxy"] + file.skyrowServices.keys.sorted())
        let networks = try #require(file.root["networks"] as? [String: Any])
        let network = try #require(networks["service"] as? [String: Any])
        #expect(network["internal"] as? Bool == true)
        let addresses = try #require((network["ipam"] as? [String: Any])?["config"] as? [[String: String]])
        for service in file.skyrowServices.values {
            let environment = try #require(service["environment"] as? [String: String])
            #expect(environment["SKYROW_TRUSTED_PROXIES"] == addresses.first?["subnet"])
        }
    }

    /// The proxy names the address of each client, and one of a private network may be anybody's.
    @Test func inProductionTheMasterKeyIsForTheContainerAlone() async throws {
        let folder = try TemporaryDirectory()
        _ = try await Self.makeKeys(in: folder.path)
        for (name, service) in try await ComposeFile(Self.files[1]).skyrowServices {
            let clients = ClientIdentification(try Self.loadSettings(service, keys: folder.path))
            for (address, isAdmitted) in [
                ("127.0.0.1", true), ("::1", true), ("172.30.77.2", false), ("10.0.0.7", false),
                ("192.168.1.7", false), ("203.0.113.9", false),
            ] {
                let client = Client(address: try #require(ClientAddress(address)), isSecure: true)
                #expect(clients.admitsMasterKey(client) == isAdmitted, "\(name): \(address)")
            }
        }
    }

    /// Without it each event of a stream waits for the next one, 200 ms at most.
    @Test func theProxyPassesEventsOnAtOnce() throws {
        let text = try String(contentsOfFile: "\(ImportTests.project)/docker/production/haproxy.cfg", encoding: .utf8)
        let defaults = try #require(
            text.components(separatedBy: "\ndefaults\n").last?.components(separatedBy: "\n\n").first
        )
        #expect(defaults.contains("\n    option http-no-delay\n"))
    }

    /// The stand-in of `docker/try` starts PostgreSQL with the very command of the stacks.
    @Test(arguments: files) func theCommandOfTheDatabaseIsUnderstood(path: String) async throws {
        let folder = try TemporaryDirectory()
        let programs = folder.path + "/bin"
        try FileManager.default.createDirectory(atPath: programs, withIntermediateDirectories: true)
        for (name, script) in [("postgres", "echo \"$@\""), ("id", "echo 70")] {
            try "#!/bin/sh\n\(script)\n".write(toFile: "\(programs)/\(name)", atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: "\(programs)/\(name)")
        }
        let data = folder.path + "/data"
        try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: true)
        try "15\n".write(toFile: "\(data)/PG_VERSION", atomically: true, encoding: .utf8)
        let command = try #require(try await ComposeFile(path).services["database"]).texts("command")
        #expect(command.first == "postgres")
        let entrypoint = "\(ImportTests.project)/docker/trial/database-entrypoint"
        let started = try await Tool.run(
            words: [entrypoint] + command,
            environment: ["PATH": "\(programs):/usr/bin:/bin", "PGDATA": data]
        )
        #expect(started.output == command.dropFirst().joined(separator: " "), "\(started.errors)")
    }

    @Test func theSecretsOfProductionAreThoseThatAreMade() async throws {
        let folder = try TemporaryDirectory()
        _ = try await Self.makeKeys(in: folder.path)
        let made = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        let file = try await ComposeFile(Self.files[1])
        // The certificate is the operator's.
        #expect(Set(made).union(["certificate"]) == file.names(of: "secrets"))
    }

    @Test func keysAreMadeOnceAndStay() async throws {
        let folder = try TemporaryDirectory()
        let keys = folder.path + "/keys"
        #expect(try await Self.makeKeys(in: keys).status == .exited(0))
        let names = try FileManager.default.contentsOfDirectory(atPath: keys)
        let first = names.map { contentsOfFile("\(keys)/\($0)") }
        #expect(Set(first).count == names.count)
        try FileManager.default.removeItem(atPath: "\(keys)/database-url")
        #expect(try await Self.makeKeys(in: keys).status == .exited(0))
        #expect(names.map { contentsOfFile("\(keys)/\($0)") } == first)

        let attributes = try FileManager.default.attributesOfItem(atPath: keys)
        #expect(attributes[.posixPermissions] as? Int == 0o700)
        #expect(try await Tool.run(words: ["\(ImportTests.project)/docker/make-keys"]).status == .exited(64))
    }

    @Test func theProxyWaitsAsLongAsTheService() throws {
        let text = try String(contentsOfFile: "\(ImportTests.project)/docker/production/haproxy.cfg", encoding: .utf8)
        func timeout(_ name: String) throws -> Duration {
            let line = try #require(text.split(separator: "\n").first { $0.contains("timeout \(name) ") })
            return try #require(DurationText.duration(String(line.split(separator: " ").last ?? "")))
        }
        let times = try Settings.default.times
        #expect(try timeout("server") > times.response)
        #expect(try timeout("http-keep-alive") < times.idle)
        #expect(try timeout("http-request") <= times.header)
    }
}

extension Settings {
    /// What holds when nobody says anything.
    static var `default`: Settings {
        get throws { try Settings(SettingSources(flags: [:], environment: [:])) }
    }
}
