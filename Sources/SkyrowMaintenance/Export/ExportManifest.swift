import SkyrowJSON
package import SkyrowModel
import SkyrowProtocol
import SkyrowSystem

/// The description of an exported directory: its file `export.json`, which is written last.
package struct ExportManifest: Hashable, Sendable {
    package struct Entry: Hashable, Sendable {
        package var type: RecordTypeName
        /// The file's name in the directory.
        var file: String
        package var records: Int
        var bytes: Int
        /// The fields and their types, including unsupported ones.
        var fields: [String: String]
        /// The last assigned number of each field's sequence, if any.
        var sequences: [FieldName: Int64]
        /// The delete rules of references other than ``DeleteRule/restrict``.
        var deleteRules: [FieldName: DeleteRule] = [:]
        /// The languages of text fields, if set.
        var textLanguages: [FieldName: TextLanguage] = [:]
        /// The text fields with stored words.
        var storedTexts: Set<FieldName> = []
        /// The rules of the type, if any.
        var access: ClassAccess?

        /// The fields that can be imported.
        var knownFields: [FieldName: FieldType] {
            var known: [FieldName: FieldType] = [:]
            for (name, type) in fields {
                if let name = try? FieldName(name), let type = try? FieldType(name: type) { known[name] = type }
            }
            return known
        }
    }

    static let fileName = "export.json"
    /// The version of the directory and file formats that this program writes.
    static let version = 1

    var program = SkyrowVersion.text
    var format: FileFormat
    package var time: Timestamp
    var types: [Entry]

    var json: [UInt8] {
        let writer = JSONWriter()
        writer.beginObject()
        writer.member("skyrow_export", Self.version)
        writer.member("skyrow_version", program)
        writer.member("exported_at", time)
        writer.member("format", format.rawValue)
        writer.beginArray("types")
        for entry in types { entry.write(to: writer) }
        writer.endArray()
        writer.endObject()
        return writer.bytes + [UInt8(ascii: "\n")]
    }
}

extension ExportManifest {
    /// Reads the manifest of a directory.
    ///
    /// Throws ``ToolError`` if it is missing or damaged, or newer than this program.
    init(of directory: String) throws(ToolError) {
        let path = "\(directory)/\(Self.fileName)"
        guard let text = contentsOfFile(path) else {
            throw .failure("\(directory) is not a complete export: it does not contain \(Self.fileName).")
        }
        try self.init(json: Array(text.utf8), path: path)
    }

    init(json: [UInt8], path: String) throws(ToolError) {
        let damaged = ToolError.failure("\(path) is damaged: it was not written by skyrow export.")
        guard let document = try? JSONDocument(json) else { throw damaged }
        self = try document.withRoot { root throws(ToolError) in
            guard let version = root["skyrow_export"]?.wholeNumber else { throw damaged }
            guard version <= Self.version else {
                throw .failure(
                    "\(path) has version \(version), and this skyrow supports versions up to \(Self.version): use a newer skyrow."
                )
            }
            guard let format = root["format"]?.string.flatMap({ FileFormat(rawValue: $0) }),
                let time = root["exported_at"]?.string.flatMap({ try? Timestamp(rfc3339: $0) }),
                let entries = root["types"], entries.isArray
            else { throw damaged }
            var types: [Entry] = []
            for json in entries.elements {
                guard let entry = Entry(json) else { throw damaged }
                types.append(entry)
            }
            return ExportManifest(
                program: root["skyrow_version"]?.string ?? "",
                format: format,
                time: time,
                types: types
            )
        }
    }
}

extension ExportManifest.Entry {
    fileprivate func write(to writer: JSONWriter) {
        writer.beginObject()
        writer.member("type", type.rawValue)
        writer.member("file", file)
        writer.member("records", records)
        writer.member("bytes", bytes)
        writer.beginObject("fields")
        for (name, type) in fields.sorted(by: { $0.key < $1.key }) {
            writer.key(name)
            writer.string(type)
        }
        writer.endObject()
        if !sequences.isEmpty {
            writer.beginObject("sequences")
            for (name, number) in sequences.sorted(by: { $0.key < $1.key }) {
                writer.key(name.rawValue)
                writer.integer(number)
            }
            writer.endObject()
        }
        writer.words("on_delete", deleteRules)
        writer.words("text", textLanguages)
        if !storedTexts.isEmpty {
            writer.beginArray("stored_text")
            for field in storedTexts.sorted() { writer.string(field.rawValue) }
            writer.endArray()
        }
        if let access {
            writer.key("access")
            writer.documentedAccess(access)
        }
        writer.endObject()
    }

    fileprivate init?(_ json: JSONView) {
        guard let type = json["type"]?.string.flatMap({ try? RecordTypeName($0) }),
            let file = json["file"]?.string, !file.contains("/"),
            let records = json["records"]?.wholeNumber, let bytes = json["bytes"]?.wholeNumber,
            let fields = json["fields"], fields.isObject
        else { return nil }
        self.init(type: type, file: file, records: Int(records), bytes: Int(bytes), fields: [:], sequences: [:])
        for (name, type) in fields.uniqueMembers {
            guard let type = type.string else { return nil }
            self.fields[name] = type
        }
        for (name, number) in json["sequences"]?.uniqueMembers ?? [] {
            guard let name = try? FieldName(name), let number = number.wholeNumber else { return nil }
            sequences[name] = number
        }
        // Older exports have neither.
        guard let rules = Self.words(of: json["on_delete"], as: DeleteRule.self),
            let languages = Self.words(of: json["text"], as: TextLanguage.self)
        else { return nil }
        (deleteRules, textLanguages) = (rules, languages)
        for element in json["stored_text"]?.elements ?? json.elements {
            guard let name = element.string.flatMap({ try? FieldName($0) }), languages[name] != nil else { return nil }
            storedTexts.insert(name)
        }
        if let rules = json["access"] {
            // Records are not imported if their access rules cannot be read.
            guard let access = try? ClassAccess(rules, of: type) else { return nil }
            self.access = access
        }
    }

    /// Returns keywords by field name; nil if one is invalid.
    private static func words<Word: RawRepresentable<String>>(of json: JSONView?, as: Word.Type) -> [FieldName: Word]? {
        var words: [FieldName: Word] = [:]
        for (name, text) in json?.uniqueMembers ?? [] {
            guard let name = try? FieldName(name), let word = text.string.flatMap(Word.init(rawValue:)) else {
                return nil
            }
            words[name] = word
        }
        return words
    }
}

extension JSONWriter {
    /// Writes a member with keywords by field name, unless it is empty.
    fileprivate func words(_ name: String, _ words: [FieldName: some RawRepresentable<String>]) {
        guard !words.isEmpty else { return }
        key(name)
        beginObject()
        for (field, word) in words.sorted(by: { $0.key < $1.key }) {
            key(field.rawValue)
            string(word.rawValue)
        }
        endObject()
    }
}
