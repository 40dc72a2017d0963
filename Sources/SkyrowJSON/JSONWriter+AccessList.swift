package import SkyrowModel

extension JSONWriter {
    /// Writes `_access` in the form of messages, `[{"role": "editor", "level": "write"}]`; `null` for no list.
    package func accessList(_ list: AccessList?) {
        guard let list else { return null() }
        beginArray()
        for entry in list.entries {
            beginObject()
            key(entry.subject.member)
            if let name = entry.subject.name {
                string(name)
            } else {
                boolean(true)
            }
            key("level")
            string(entry.level.rawValue)
            endObject()
        }
        endArray()
    }
}
