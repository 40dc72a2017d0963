public import SkyrowModel
import SkyrowProtocol

extension RecordDatabase {
    /// Uploads files, and saves a record with them in the fields of these names.
    ///
    /// ```swift
    /// let photo = LocalFile(contentsOf: url)
    /// let draft = try RecordDraft("note/1", ["title": "Milk"])
    /// try await client.publicDatabase.save(draft, uploading: ["photo": photo])
    /// ```
    ///
    /// Files that an earlier call has uploaded are not sent again. When an upload fails, nothing is saved; the service deletes
    /// uploaded files that no record refers to after a day.
    ///
    /// - Parameters:
    ///   - draft: the record.
    ///   - files: the files by the names of their fields.
    ///   - progress: takes the progress of all files together.
    @discardableResult
    public func save(
        _ draft: RecordDraft,
        uploading files: KeyValuePairs<String, LocalFile>,
        progress: (@Sendable (FileProgress) -> Void)? = nil
    ) async throws(ClientError) -> Record {
        var draft = draft
        var pending: [(field: FieldName, file: LocalFile, size: Int64)] = []
        for (field, file) in files {
            let name: FieldName
            do throws(SkyrowError) {
                name = try FieldName(field)
            } catch {
                throw .refused(error)
            }
            pending.append((name, file, try file.content.size()))
        }
        let total = pending.reduce(0) { $0 + $1.size }
        var completed: Int64 = 0
        for (field, file, size) in pending {
            let before = completed
            let asset = try await client.upload(file) { part in
                progress?(FileProgress(completed: before + part.completed, total: total))
            }
            completed += size
            draft.fields.removeAll { $0.name == field }
            draft.fields.append((field, .asset(asset)))
        }
        do throws(ClientError) {
            return try await save(draft)
        } catch {
            if error.serverCode == .invalidArgument {
                for (_, file) in files { file.forget() }
            }
            throw error
        }
    }

    /// Returns files of a record with addresses from which anybody can download them for some minutes, also files inside of JSON
    /// values. Files that are not in the record, or that its writers did not upload, are left out.
    ///
    /// ```swift
    /// for photo in try await client.publicDatabase.signFiles(names, in: note.id) {
    ///     images.append(UIImage(data: try await client.download(photo)))
    /// }
    /// ```
    public func signFiles(_ names: [AssetName], in record: RecordID) async throws(ClientError) -> [Asset] {
        let urls = try await client.call(Actions.fileSign, FileSigning(record: record, names: names, database: name))
        return names.compactMap { file in urls[file].map { Asset(file, url: $0) } }
    }
}
