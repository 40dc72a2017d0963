package import SkyrowModel
internal import SkyrowPostgres

extension AssetTable {
    /// Returns the row of a stored file if a caller may read it: its uploader, the operator, or a caller who may read a record and
    /// in it a field that refers to the file. Nil otherwise, as for a name that no file has.
    ///
    /// A file that is readable for `Caller.anonymous` is readable for everyone.
    package func readable(_ name: AssetName, by caller: Caller) async throws(SkyrowError) -> StoredAsset? {
        try await store.reporting {
            try await store.withCatalog { catalog in
                let statement = AssetAccessStatement(for: caller, catalog, store.assetTexts)
                let rows = try await store.client.read(statement.readable(name)).rows(StoredAsset.columns.ifAny)
                return (rows.first ?? nil) ?? nil
            }
        }
    }

    /// Returns those of some names that a caller may put into a record: of stored files that it uploaded or may read, and of
    /// those without an uploader.
    ///
    /// The next save refers to them, so those that a look found to be unreferenced have the whole grace again.
    package func usable(_ names: Set<AssetName>, by caller: Caller) async throws(SkyrowError) -> Set<AssetName> {
        guard !names.isEmpty else { return [] }
        return try await store.reporting {
            let found = try await store.withCatalog { catalog in
                let statement = AssetAccessStatement(for: caller, catalog, store.assetTexts)
                return try await store.client.read(statement.usable(Array(names)))
                    .rows(AssetAccessStatement.usableColumns)
            }
            _ = try await unmark(found.filter(\.isMarked).map(\.name))
            return Set(found.compactMap { AssetName($0.name) })
        }
    }

    /// Whether a field of a type holds files.
    package func holdsFiles(_ field: FieldName, of type: RecordTypeName) async throws(SkyrowError) -> Bool {
        try await store.knownTable(of: type)?[field]?.holdsFile ?? false
    }

    /// Returns those of some files that a record names inside of its JSON fields or in its fields of files, as far as the caller
    /// sees the fields; nil if the caller may not read the record, or it does not exist.
    ///
    /// A file inside of JSON counts only if the owner, the creator or the last editor of the record uploaded it, or if it has no
    /// uploader: everyone who may write the record can put any name into JSON. Throws `102 PermissionDenied` if the key of the
    /// request does not reach the type.
    package func nestedAssets(
        _ names: [AssetName],
        in id: RecordID,
        with access: RecordAccess
    ) async throws(SkyrowError) -> [StoredAsset]? {
        try access.requireReading(id.type)
        return try await store.reporting {
            try await store.withCatalog { catalog in
                guard let table = catalog.visible(to: access.fields)[id.type] else { return nil }
                let statement = NestedAssetStatement(names, in: id, of: table, with: access)
                let result = try await store.client.read(statement.sql)
                return result.isEmpty ? nil : try result.rows(StoredAsset.columns.ifAny).compactMap { $0 ?? nil }
            }
        }
    }
}
