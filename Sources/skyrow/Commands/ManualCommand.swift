import ArgumentParser
import Glibc
import SkyrowSystem

/// `skyrow manual`, for `make manual` and `make install`
struct ManualCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "manual",
        abstract: "Write the man pages and the table of settings into a directory.",
        shouldDisplay: false
    )

    @Argument(help: "The directory, which is created if it is missing.", completion: .directory)
    var directory: String

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
                let file = try FileDescriptor(opening: target, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, mode: 0o644)
                try file.write(text.utf8)
            }
        }
    }
}
