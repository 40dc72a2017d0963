import ArgumentParser
import Glibc
import SkyrowActions
import SkyrowHTTP
import SkyrowProtocol
import SkyrowSystem

/// `skyrow manual`, for `make manual` and `make install`
struct ManualCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "manual",
        abstract:
            "Write the man pages and the table of settings into a directory, and the tables of actions into pages.",
        shouldDisplay: false
    )

    @Argument(help: "The directory, which is created if it is missing.", completion: .directory)
    var directory: String

    @Argument(help: "Pages of Documentation/Protocol.", completion: .file())
    var pages: [String] = []

    func run() async throws {
        try await reportingErrors {
            let files = try Manual.files()
            for (path, text) in files.sorted(by: { $0.key < $1.key }) {
                let target = "\(directory)/\(path)"
                let folder = target.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(
                    separator: "/"
                )
                guard mkdir(folder, 0o755) == 0 || errno == EEXIST else {
                    throw ToolError.system("Cannot create \(folder)")
                }
                try write(text, to: target)
            }
            let tables = ProtocolTables(ActionTable.all.map(\.description))
            for page in pages {
                try write(tables.filled(String(decoding: try bytesOfFile(page), as: UTF8.self)), to: page)
            }
        }
    }

    private func write(_ text: String, to path: String) throws(ToolError) {
        let file = try FileDescriptor(opening: path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, mode: 0o644)
        try file.write(text.utf8)
    }
}
