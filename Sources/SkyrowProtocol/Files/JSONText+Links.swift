import SkyrowJSON
package import SkyrowModel

extension JSONText {
    /// Upper bound on the nesting of a text whose files get addresses.
    private static let depthLimit = 128

    /// Returns the text with the member `$url` in each file, in place of one that it had.
    ///
    /// Functions write files with other spaces and members than the service, so the text is parsed; but only one that has the word
    /// `"asset"`. A text that is nested too deeply is returned as it is.
    ///
    /// - Parameter links: makes the addresses; nil without a storage for files.
    package func linkingFiles(by links: (any AssetLinks)?) -> JSONText {
        guard let links, namesFiles, let document = try? JSONDocument(utf8, depthLimit: Self.depthLimit) else {
            return self
        }
        let writer = JSONWriter(capacity: utf8.count + 256)
        document.withRoot { writer.linked($0, by: links) }
        return writer.jsonText
    }

    /// The names of the files inside of the text, also of those that it writes with escapes.
    package var fileNames: Set<AssetName> {
        guard namesFiles || utf8.contains(UInt8(ascii: "\\")),
            let document = try? JSONDocument(utf8, depthLimit: Self.depthLimit)
        else { return [] }
        return document.withRoot { root in
            var names = Set(root.descendants.compactMap { $0.fileName.flatMap { AssetName($0) } })
            if let name = root.fileName.flatMap({ AssetName($0) }) { names.insert(name) }
            return names
        }
    }

    private var namesFiles: Bool {
        let word: StaticString = "\"asset\""
        let length = word.utf8CodeUnitCount
        return utf8.withUnsafeBufferPointer { bytes in
            let letters = UnsafeBufferPointer(start: word.utf8Start, count: length)
            var place = 0
            while place + length <= bytes.count {
                if bytes[place] == letters[0], bytes[place + 1] == letters[1],
                    bytes[place..<place + length].elementsEqual(letters)
                {
                    return true
                }
                place += 1
            }
            return false
        }
    }
}

extension JSONWriter {
    fileprivate func linked(_ json: JSONView, by links: any AssetLinks) {
        switch json.kind {
        case .null, .false, .true, .integer, .number, .string, .escapedString: copy(json)
        case .array:
            beginArray()
            for element in json.elements { linked(element, by: links) }
            endArray()
        case .object:
            let name = json.fileName
            beginObject()
            for (key, value) in json.members where name == nil || !key.equals("$url") {
                copy(key)
                append(UInt8(ascii: ":"))
                linked(value, by: links)
            }
            if let name {
                key("$url")
                append(UInt8(ascii: "\""))
                Array(name.utf8).withUnsafeBytes { bytes in
                    links.withAddress(of: bytes) { append($0.assumingMemoryBound(to: UInt8.self)) }
                }
                append(UInt8(ascii: "\""))
            }
            endObject()
        }
    }

    private func copy(_ json: JSONView) {
        separate()
        append(json.source.assumingMemoryBound(to: UInt8.self))
    }
}

extension JSONView {
    /// The name of the file that the object is; nil for any other object.
    fileprivate var fileName: String? {
        guard self["$type"]?.equals("asset") == true, let name = self["$name"]?.string, AssetName(name) != nil else {
            return nil
        }
        return name
    }
}
