import Foundation
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// A compose file of the project as its readers understand it: variables have their defaults, `<<` is merged.
struct ComposeFile {
    let path: String
    let root: [String: Any]

    /// - Parameter path: below the project's folder.
    init(_ path: String) async throws {
        self.path = path
        // The YAML is Python's to read; what it finds wrong is on standard error.
        let script = "import json,sys,yaml; json.dump(yaml.safe_load(open(sys.argv[1])), sys.stdout)"
        let file = "\(ImportTests.project)/\(path)"
        let read = try await Tool.run(words: ["/usr/bin/python3", "-c", script, file])
        try #require(read.status == .exited(0), "\(read.errors)")
        let text = read.output.replacing(#/\$\{\w+:-([^}]*)\}/#) { $0.1 }
        root = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    }

    /// The folder that its paths start in.
    var folder: String { ("\(ImportTests.project)/\(path)" as NSString).deletingLastPathComponent }

    func names(of section: String) -> Set<String> {
        Set((root[section] as? [String: Any] ?? [:]).keys)
    }

    var services: [String: [String: Any]] { root["services"] as? [String: [String: Any]] ?? [:] }

    /// The services that run `skyrow serve`.
    var skyrowServices: [String: [String: Any]] { services.filter { $0.key.hasPrefix("skyrow") } }
}

extension [String: Any] {
    func texts(_ key: String) -> [String] { self[key] as? [String] ?? [] }
}
