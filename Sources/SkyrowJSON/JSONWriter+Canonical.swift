extension JSONWriter {
    /// Writes a value without white space, with members sorted by name, each once, and with the escapes that JSON requires.
    ///
    /// Two texts that an application would consider the same request have the same canonical form; numbers stay as they were
    /// written.
    package func canonical(_ json: JSONView) {
        switch json.kind {
        case .null, .false, .true, .integer, .number:
            self.json(validated: json.source)
        case .string, .escapedString:
            string(json.string ?? "")
        case .array:
            beginArray()
            for element in json.elements { canonical(element) }
            endArray()
        case .object:
            beginObject()
            for (name, value) in json.uniqueMembers.sorted(by: { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) })
            {
                key(name)
                canonical(value)
            }
            endObject()
        }
    }
}
