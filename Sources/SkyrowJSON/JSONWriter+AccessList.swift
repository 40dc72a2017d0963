package import SkyrowModel

extension JSONWriter {
    /// Writes `_access` in the form of messages, `[{"role": "editor", "level": "write"}]`; `null` for no list.
    package func accessList(_ list: AccessList?) {
        guard let list else { return null() }
        beginArray()
        for entry in list.entries {
            beginObject()
            member(for: entry.subject)
            member("level", entry.level.rawValue)
            endObject()
        }
        endArray()
    }

    /// The member that names a subject in entries of access lists and of rules: `"role":"editor"`, `"owner":true`.
    package func member(for subject: Subject) {
        key(subject.kind.member)
        if let name = subject.name { string(name) } else { boolean(true) }
    }
}
