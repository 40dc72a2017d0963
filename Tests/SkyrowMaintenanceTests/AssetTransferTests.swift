import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowStore
@testable import SkyrowSystem

/// Files in exports, imports and schema files, which have their names.
@Suite(.timeLimit(.minutes(60))) struct AssetTransferTests {
    private static let cat = asset("cat.png")
    private static let dog = asset("dog.png", number: 1)

    private func photos(_ f: StoreFixture, _ ids: [RecordID]) async throws -> [RecordValue?] {
        try await f.store.fetch(ids, in: .everyone, caller: .master).map { try $0.record.fields[field("photo")] }
    }

    @Test(arguments: [FileFormat.csv, .json, .ndjson])
    func whatIsExportedIsImportedWhereTheFilesAre(format: FileFormat) async throws {
        let folder = try TemporaryDirectory()
        let directory = folder.path + "/export"
        let drafts = [
            draft("shop/cat", ["photo": .asset(Self.cat)]), draft("shop/dog", ["photo": .asset(Self.dog)]),
            draft("shop/none"),
        ]
        try await withStore { f in
            try await f.psql(insertion(of: [Self.cat, Self.dog]))
            try await f.store.createMissingSchema(for: drafts)
            _ = try await f.store.save(drafts.map { .draft($0) }, in: .everyone, caller: .ann, atomic: false)
            try await f.exportAll(as: format, to: directory)
        }
        try await withStore { f in
            // The foreign key holds for an import too.
            await #expect(throws: (any Error).self) { try await f.importAll(of: directory) }
            try await f.psql(insertion(of: [Self.cat, Self.dog]))
            try await f.importAll(of: directory)
            let found = try await photos(f, drafts.map(\.id))
            #expect(found == [.asset(Self.cat), .asset(Self.dog), nil])
            #expect(f.store.cache.current[type("shop")]?.recordType.fields == [field("photo"): .asset])
        }
    }

    /// A text field with the names of files becomes one of files, and one of files a text field.
    @Test func aTextBecomesAFileWhereThereIsOne() async throws {
        try await withStore { f in
            try await f.psql(insertion(of: [Self.cat]))
            try await f.store.createMissingSchema(for: [draft("shop/1", ["photo": .string("")])])
            try await f.psql(
                "INSERT INTO shop (_id, photo) VALUES ('1', '\(Self.cat.name)'), ('2', '\(Self.dog.name)'), ('3', NULL)"
            )
            let ids = ["shop/1", "shop/2", "shop/3"].map { id($0) }
            var document = try await f.store.schemaDocument()
            document.types[type("shop")]?.fields[field("photo")] = DocumentedField(.asset)
            let report = try await f.store.compareSchema(with: document)
            let losses = Dictionary(uniqueKeysWithValues: report.losses.map { ($0.key.name, $0.value) })
            #expect(losses == ["shop.photo": .init(lost: 1, records: 3)])
            try await f.apply(document)
            #expect(try await photos(f, ids) == [.asset(Self.cat), nil, nil])
            #expect(try await f.store.schemaDocument() == document)
            let constraint = "SELECT count(*) FROM pg_constraint WHERE conrelid = 'shop'::regclass AND contype = 'f'"
            #expect(try await f.psql(constraint) == "1")

            document.types[type("shop")]?.fields[field("photo")] = DocumentedField(.string)
            try await f.apply(document)
            #expect(try await photos(f, ids) == [.string(Self.cat.name.rawValue), nil, nil])
            #expect(try await f.psql(constraint) == "0")
            #expect(try await f.psql("SELECT to_regclass('shop_photo_idx') IS NULL") == "t")
        }
    }

    @Test func whatAForeignKeyOfPsqlLacksIsDrift() async throws {
        try await withStore { f in
            try await f.psql(
                "SELECT _create_type('shop'); ALTER TABLE shop ADD photo text COLLATE \"C\" REFERENCES _asset (name)"
            )
            let document = try await f.store.schemaDocument()
            #expect(document.types[type("shop")]?.fields[field("photo")]?.type == .asset)
            let drift = try await f.store.compareSchema(with: document).difference.drift.map(\.fault)
            #expect(drift.contains(.noReferenceIndex) && drift.contains(.immediateForeignKey("shop_photo_fkey")))
            try await f.apply(document)
            #expect(try await f.store.compareSchema(with: document).difference.drift.isEmpty)
        }
    }
}
