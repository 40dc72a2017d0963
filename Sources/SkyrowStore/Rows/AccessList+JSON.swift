internal import SkyrowJSON
package import SkyrowModel

/// The stored form of an access list, `[{"level": "read", "public": true}, …]` in a `jsonb` column.
extension AccessList {
    /// Reads what a column holds, with the meaning the SQL condition gives it.
    ///
    /// Whatever psql wrote is read: an element admits whom it names with a level of ours, and is otherwise passed over;
    /// a text that is no array is an empty list, which admits the owner alone.
    package init(storedJSON text: UnsafeRawBufferPointer) {
        // PostgreSQL has checked the text, and nests as deep as its memory allows.
        let entries = try? JSONDocument.read(text, depthLimit: .max) { list in
            list.elements.flatMap { AccessEntry.stored($0) }
        }
        self.init(entries ?? [])
    }

    /// The text for the column; `jsonb` has an order of its own for the members.
    package var storedJSON: String {
        let writer = JSONWriter(capacity: 64)
        writer.accessList(self)
        return writer.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }
}

extension AccessEntry {
    /// The entries of one element; several when it names several subjects, none when it has no level of ours.
    fileprivate static func stored(_ json: JSONView) -> [AccessEntry] {
        guard let level = json["level"]?.string.flatMap(AccessLevel.init(rawValue:)) else { return [] }
        return json.members.compactMap { key, value in
            AccessSubject(stored: key, value).map { AccessEntry($0, level) }
        }
    }
}

extension AccessSubject {
    /// nil for a member that names no subject.
    fileprivate init?(stored key: JSONView, _ value: JSONView) {
        if key.equals("public"), value.boolean == true {
            self = .everyone
        } else if key.equals("owner"), value.boolean == true {
            self = .owner
        } else if key.equals("user_id"), let id = value.string {
            self = .user(UserID(id))
        } else if key.equals("role"), let name = value.string {
            self = .role(RoleName(name))
        } else {
            return nil
        }
    }
}
