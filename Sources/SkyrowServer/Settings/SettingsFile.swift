import SkyrowJSON
package import SkyrowSystem

/// A settings file: one JSON object whose keys are the settings' names.
///
/// ```json
/// {"port": 8080, "data-directory": "/var/lib/skyrow", "login-keys": ["email"], "development": false}
/// ```
package struct SettingsFile: Hashable, Sendable {
    package var path: String
    /// What stands behind each key, in the form that flags and variables have; null counts as nothing.
    package var texts: [String: String] = [:]

    /// Reads the file; throws ``ToolError`` when it cannot be read or is no such object.
    package init(reading path: String) throws(ToolError) {
        let bytes: [UInt8]
        do {
            bytes = try bytesOfFile(path)
        } catch {
            throw .configuration(error.description)
        }
        try self.init(path: path, json: bytes)
    }

    package init(path: String, json: [UInt8]) throws(ToolError) {
        self.path = path
        let document: JSONDocument
        do {
            document = try JSONDocument(json)
        } catch {
            throw .configuration("The settings file \(path) is no JSON. \(error).")
        }
        texts = try document.withRoot { root throws(ToolError) in
            guard root.isObject else { throw .configuration("The settings file \(path) must hold one JSON object.") }
            var texts: [String: String] = [:]
            var names: Set<String> = []
            for (key, value) in root.members {
                let name = key.string ?? ""
                guard names.insert(name).inserted else {
                    throw .configuration("'\(name)' is in \(path) twice: keep one of them.")
                }
                if value.isNull { continue }
                guard let text = SettingsFile.text(value) else {
                    throw .configuration(
                        "'\(name)' in \(path) must be a text, a number, true, false or a list of texts."
                    )
                }
                texts[name] = text
            }
            return texts
        }
    }

    /// A scalar's text, or those of a list with commas between them.
    private static func text(_ value: JSONView) -> String? {
        switch value.kind {
        case .string, .escapedString:
            return value.string
        case .true, .false, .integer, .number:
            return String(decoding: value.source, as: UTF8.self)
        case .array:
            let texts = value.elements.map(\.string)
            let known = texts.compactMap(\.self)
            return known.count == texts.count && !known.contains { $0.contains(",") }
                ? known.joined(separator: ",") : nil
        case .null, .object:
            return nil
        }
    }
}
