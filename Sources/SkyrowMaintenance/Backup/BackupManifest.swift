import SkyrowJSON
package import SkyrowModel
import SkyrowProtocol
import SkyrowSystem

/// The description of an archive.
package struct BackupManifest: Hashable, Sendable {
    /// A table and its rows in the archive.
    package struct Table: Hashable, Sendable {
        package var name: String
        package var rows: Int
        var bytes: Int
        /// SHA-256 of the rows in the text form of COPY, in hexadecimal digits.
        var checksum: String
    }

    /// The files of records in the archive.
    package struct Files: Hashable, Sendable {
        package var count: Int
        package var bytes: Int
    }

    /// The archive format version that this program writes. Version 1, from before the first release, has one schema
    /// for records and reserved tables.
    static let version = 2

    package var program = SkyrowVersion.text
    /// The version of the database's newest migration.
    package var schemaVersion: Int
    /// The oldest major version of PostgreSQL that can read the dump.
    package var postgresVersion: Int
    package var time: Timestamp
    /// The PostgreSQL schema of the application.
    var schema: String
    /// Whether the archive has sessions.
    package var hasSessions: Bool
    package var tables: [Table]
    /// The tables whose rows are excluded because they are short-lived. Older archives do not list them.
    package var leftOut: [String] = []
    /// nil if the archive was written without files.
    package var files: Files?

    package var json: [UInt8] {
        let writer = JSONWriter()
        writer.beginObject()
        writer.member("skyrow_backup", Self.version)
        writer.member("skyrow_version", program)
        writer.member("schema_version", schemaVersion)
        writer.member("postgres_version", postgresVersion)
        writer.member("taken_at", time)
        writer.member("schema", schema)
        writer.member("sessions", hasSessions)
        writer.beginArray("tables")
        for table in tables {
            writer.beginObject()
            writer.member("name", table.name)
            writer.member("rows", table.rows)
            writer.member("bytes", table.bytes)
            writer.member("sha256", table.checksum)
            writer.endObject()
        }
        writer.endArray()
        writer.beginArray("left_out")
        for name in leftOut { writer.string(name) }
        writer.endArray()
        if let files {
            writer.beginObject("files")
            writer.member("count", files.count)
            writer.member("bytes", files.bytes)
            writer.endObject()
        }
        writer.endObject()
        return writer.bytes + [UInt8(ascii: "\n")]
    }
}

extension BackupManifest {
    /// Throws ``ToolError`` if the text is not a manifest, or has a newer version than this program's.
    init(json: [UInt8], path: String) throws(ToolError) {
        let damaged = ToolError.damagedArchive(path)
        guard let document = try? JSONDocument(json) else { throw damaged }
        self = try document.withRoot { root throws(ToolError) in
            guard let version = root["skyrow_backup"]?.wholeNumber else { throw damaged }
            guard version <= Self.version else {
                throw .failure(
                    "\(path) has archive version \(version), and this skyrow supports versions up to \(Self.version): use a "
                        + "newer skyrow."
                )
            }
            guard version == Self.version else {
                throw .failure(
                    """
                    \(path) is from before the first release, and has the reserved tables in the schema of the records: restore \
                    it with the build that created it, export the records there (skyrow export), and import them with this one \
                    (skyrow import).
                    """
                )
            }
            guard let manifest = BackupManifest(root) else { throw damaged }
            return manifest
        }
    }

    private init?(_ json: JSONView) {
        guard let program = json["skyrow_version"]?.string,
            let schemaVersion = json["schema_version"]?.wholeNumber,
            let postgresVersion = json["postgres_version"]?.wholeNumber,
            let time = json["taken_at"]?.string.flatMap({ try? Timestamp(rfc3339: $0) }),
            let schema = json["schema"]?.string, let hasSessions = json["sessions"]?.boolean,
            let tables = json["tables"], tables.isArray
        else { return nil }
        self.init(
            program: program,
            schemaVersion: Int(schemaVersion),
            postgresVersion: Int(postgresVersion),
            time: time,
            schema: schema,
            hasSessions: hasSessions,
            tables: [],
            leftOut: json["left_out"]?.elements.compactMap(\.string) ?? []
        )
        for json in tables.elements {
            guard let name = json["name"]?.string, let rows = json["rows"]?.wholeNumber,
                let bytes = json["bytes"]?.wholeNumber, let checksum = json["sha256"]?.string,
                rows >= 0, bytes >= 0
            else { return nil }
            self.tables.append(Table(name: name, rows: Int(rows), bytes: Int(bytes), checksum: checksum))
        }
        if let files = json["files"] {
            guard let count = files["count"]?.wholeNumber, let bytes = files["bytes"]?.wholeNumber else { return nil }
            self.files = Files(count: Int(count), bytes: Int(bytes))
        }
        guard Self.haveSum(self.tables.map(\.rows)), Self.haveSum(self.tables.map(\.bytes)) else { return nil }
    }

    private static func haveSum(_ counts: [Int]) -> Bool {
        var sum = 0
        for count in counts {
            let (next, isTooLarge) = sum.addingReportingOverflow(count)
            guard !isTooLarge else { return false }
            sum = next
        }
        return true
    }
}

extension ToolError {
    static func damagedArchive(_ path: String) -> ToolError {
        .failure("\(path) is damaged: its checksums do not match. Nothing was changed; use another backup.")
    }
}
