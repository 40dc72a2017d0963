import SkyrowJSON
package import SkyrowModel
package import SkyrowSystem

/// A settings file: one JSON object whose keys are the settings' names.
///
/// ```json
/// {"port": 8080, "data-directory": "/var/lib/skyrow", "login-keys": ["email"], "development": false}
/// ```
///
/// The key `applications` has an object for each application with its own settings: `{"applications": {"shop":
/// {"development": true}}}`.
package struct SettingsFile: Hashable, Sendable {
    package var path: String
    /// The value of each key, in the text form of flags and variables. null is ignored.
    package var texts: [String: String] = [:]
    /// The values of each application.
    package var applications: [ApplicationName: [String: String]] = [:]

    /// Reads the file. Throws ``ToolError`` if it is unreadable or not such an object.
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
            throw .configuration("The settings file \(path) is not valid JSON. \(error).")
        }
        (texts, applications) = try document.withRoot { root throws(ToolError) in
            guard root.isObject else { throw .configuration("The settings file \(path) must contain one JSON object.") }
            var applications: [ApplicationName: [String: String]] = [:]
            let texts = try SettingsFile.texts(of: root, in: path) { key, value throws(ToolError) in
                guard key == "applications" else { return false }
                applications = try SettingsFile.applications(of: value, in: path)
                return true
            }
            return (texts, applications)
        }
    }

    /// - Parameter special: Handles a member that is not a setting, and returns whether it did.
    private static func texts(
        of object: JSONView,
        prefix: String = "",
        in path: String,
        special: (String, JSONView) throws(ToolError) -> Bool = { _, _ in false }
    ) throws(ToolError) -> [String: String] {
        var texts: [String: String] = [:]
        var names: Set<String> = []
        for (key, value) in object.members {
            let name = key.string ?? ""
            guard names.insert(name).inserted else {
                throw .configuration("'\(prefix)\(name)' is in \(path) twice: remove one of them.")
            }
            if try special(name, value) || value.isNull { continue }
            guard let text = SettingsFile.text(value) else {
                throw .configuration(
                    "'\(prefix)\(name)' in \(path) must be a string, a number, true, false or a list of strings."
                )
            }
            texts[name] = text
        }
        return texts
    }

    private static func applications(of value: JSONView, in path: String) throws(ToolError)
        -> [ApplicationName: [String: String]]
    {
        guard value.isObject else {
            throw .configuration(
                "'applications' in \(path) must be an object that contains an object for each application."
            )
        }
        var applications: [ApplicationName: [String: String]] = [:]
        for (key, settings) in value.members {
            let text = key.string ?? ""
            guard let name = try? ApplicationName(text), name != .default, settings.isObject else {
                throw .configuration(
                    "'applications.\(text)' in \(path) must be an object, named after an application other than app."
                )
            }
            let texts = try texts(of: settings, prefix: "applications.\(name).", in: path)
            guard applications.updateValue(texts, forKey: name) == nil else {
                throw .configuration("'applications.\(name)' is in \(path) twice: remove one of them.")
            }
        }
        return applications
    }

    /// Returns a scalar's text, or those of a list joined with commas.
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
