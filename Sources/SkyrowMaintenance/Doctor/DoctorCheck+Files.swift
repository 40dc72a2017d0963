package import SkyrowActions
internal import SkyrowModel
internal import SkyrowPostgres
import SkyrowSystem

/// The files of an application, for the checks.
package struct DoctorFiles: Sendable {
    /// The directory of the application, or `the bucket files`.
    package var directory: String
    /// nil if the directory does not exist.
    package var storage: (any FileStorage)?

    /// Whether the files are in a bucket.
    package var isBucket: Bool

    package init(directory: String, storage: (any FileStorage)?, isBucket: Bool = false) {
        self.directory = directory
        self.storage = storage
        self.isBucket = isBucket
    }

    /// What is checked if the files cannot be used.
    fileprivate var remedy: String {
        isBucket
            ? "Check the settings that begin with s3-, the clock of this machine, and file-directory."
            : "Check whether file-directory is correct, mounted, and owned by the user of the service."
    }
}

extension DoctorCheck {
    /// Rows: the number of `examined` files, of which some are `missing` in a `directory`, one with a `name`; or `fault`, why the
    /// storage cannot be used, and the `remedy`.
    package static let files = DoctorCheck(
        "files",
        "Files of records",
        needsTables: true,
        .observation { try await $0.examineFiles() },
        finding: { row, _ in
            if !row["fault"].isEmpty {
                return DoctorFinding(
                    .error,
                    row["fault"],
                    meaning: "Uploads and downloads fail.",
                    remedy: row["remedy"]
                )
            }
            guard row.integer("missing") > 0 else { return nil }
            return DoctorFinding(
                .error,
                "\(row["missing"]) of \(row["examined"]) stored files are missing in \(row["directory"]), such as "
                    + "\(row["name"]).",
                meaning: "Records refer to files that cannot be downloaded.",
                remedy:
                    "Check whether the settings of files are correct; otherwise copy the files back from a backup.",
                commands: ["$ skyrow files verify"]
            )
        }
    )
}

extension DoctorProbe {
    /// Upper bound on the files that are looked up.
    private static let sampleLength = 500

    fileprivate func examineFiles() async throws -> [DoctorRow] {
        guard let files else { return [] }
        let sample = try FileRow.all(in: await client.read(FileRow.sample(Self.sampleLength, in: schema)))
        do throws(ToolError) {
            // A listing says why a bucket cannot be used, which a request for an object does not.
            _ = try await files.storage?.page(after: nil, limit: 1)
            var missing: [FileRow] = []
            for row in sample where try await files.storage?.size(of: row.name) == nil { missing.append(row) }
            return [
                [
                    "examined": "\(sample.count)", "missing": "\(missing.count)", "directory": files.directory,
                    "name": missing.first?.name.rawValue ?? "",
                ]
            ]
        } catch {
            return [["fault": error.description, "remedy": files.remedy]]
        }
    }
}
