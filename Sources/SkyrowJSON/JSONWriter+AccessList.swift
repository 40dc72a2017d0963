package import SkyrowModel

extension JSONWriter {
    /// `_access` as the wire and the `_access` column have it; `null` for no list.
    package func accessList(_ list: AccessList?) {
        guard let list else { return null() }
        beginArray()
        for entry in list.entries {
            beginObject()
            switch entry.subject {
            case .everyone:
                key("public")
                boolean(true)
            case .owner:
                key("owner")
                boolean(true)
            case .user(let id):
                key("user_id")
                string(id.rawValue)
            case .role(let role):
                key("role")
                string(role.rawValue)
            }
            key("level")
            string(entry.level.rawValue)
            endObject()
        }
        endArray()
    }
}
