internal import SkyrowJSON
package import SkyrowModel

/// The stored form of an access list, `{"public": "read", "role:editor": "write"}` in a `jsonb` column.
extension AccessList {
    /// Reads the value of a column, with the meaning that the SQL condition gives it.
    ///
    /// Any value that psql wrote is accepted: entries without a valid subject or level are ignored, and a value that is not an
    /// object is an empty list, which admits only the owner.
    package init(storedJSON text: UnsafeRawBufferPointer) {
        // PostgreSQL has validated the text, whose nesting only its memory limits.
        let list = try? JSONDocument.read(text, depthLimit: .max) { AccessList(stored: $0) }
        self = list ?? AccessList([])
    }

    /// Reads a list like ``init(storedJSON:)``.
    init(stored json: JSONView) {
        self.init(
            json.members.compactMap { key, value in
                guard let subject = key.string.flatMap({ Subject(key: $0) }),
                    let level = value.string.flatMap(AccessLevel.init(rawValue:))
                else { return nil }
                return AccessEntry(subject, level)
            }
        )
    }

    /// The text for the column; `jsonb` orders the members by itself.
    package var storedJSON: String {
        let writer = JSONWriter(capacity: 64)
        writer.beginObject()
        for entry in entries {
            writer.key(entry.subject.key)
            writer.string(entry.level.rawValue)
        }
        writer.endObject()
        return writer.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }
}

/// The form on the wire, `[{"public": true, "level": "read"}, {"role": "editor", "level": "write"}]`.
extension AccessList {
    /// Reads the form that a row emits; nil for `null`.
    package init?(emittedJSON text: UnsafeRawBufferPointer) {
        if text.elementsEqual("null".utf8) { return nil }
        let entries = try? JSONDocument.read(text, depthLimit: .max) { list in
            list.elements.compactMap { AccessEntry(emitted: $0) }
        }
        self.init(entries ?? [])
    }

    /// Reads the form of exports; nil for a value that is not a list, or has an invalid entry.
    package init?(exportedJSON text: UnsafeRawBufferPointer) {
        let entries = try? JSONDocument.read(text, depthLimit: 10) { list -> [AccessEntry]? in
            guard list.isArray else { return nil }
            let entries = list.elements.compactMap { AccessEntry(emitted: $0) }
            return entries.count == list.count ? entries : nil
        }
        guard let entries else { return nil }
        self.init(entries)
    }

    /// Calls `body` with the wire form of a column's value.
    ///
    /// Lists are frequent in query results, so this converts the bytes of PostgreSQL's `jsonb` output directly. Text that is
    /// spelled differently, and long lists, are converted through a value.
    ///
    /// - Parameter isWhole: whether the reader sees entries that name someone (``AccessList/shownToAll``).
    package static func withEmitted(
        storedJSON text: UnsafeRawBufferPointer,
        isWhole: Bool = true,
        _ body: (UnsafeRawBufferPointer) -> Void
    ) {
        if StoredEntries.withEmitted(text, isWhole: isWhole, body) { return }
        let writer = JSONWriter(capacity: 64)
        let list = AccessList(storedJSON: text)
        writer.accessList(isWhole ? list : list.shownToAll)
        writer.withUnsafeBytes(body)
    }
}

extension AccessEntry {
    fileprivate init?(emitted json: JSONView) {
        guard let level = json["level"]?.string.flatMap(AccessLevel.init(rawValue:)), json.count == 2 else {
            return nil
        }
        for (member, value) in json.members where !member.equals("level") {
            guard let member = member.string, value.string != nil || value.boolean == true else { return nil }
            let word = member == "user_id" ? "user" : member
            guard let subject = Subject(key: value.string.map { "\(word):\($0)" } ?? word) else { return nil }
            self.init(subject, level)
            return
        }
        return nil
    }
}

/// The entries of a stored list, as ranges of its text.
private struct StoredEntries {
    /// Upper bound on entries; longer lists are sorted faster through a value.
    private static let maximum = 16
    /// Upper bound on the bytes of an entry on the wire in addition to the stored name and level.
    private static let added = 40

    private struct Entry {
        /// The position of the subject's kind in the order of lists.
        var rank: Int
        var name: Range<Int>
        var level: Range<Int>
    }

    /// The kinds of subjects in the order of lists, by the prefixes of their keys.
    private static let kinds: [(word: StaticString, member: StaticString, hasName: Bool)] = [
        ("public", "public", false), ("users", "users", false), ("registered", "registered", false),
        ("verified", "verified", false), ("owner", "owner", false), ("user:", "user_id", true), ("role:", "role", true),
        ("group:", "group", true), ("key:", "key", true), ("relation:", "relation", true),
    ]

    private static let relations: [StaticString] = ["relation:friend", "relation:follower", "relation:followed"]

    /// Returns false without calling `body` for text in an unexpected spelling.
    static func withEmitted(
        _ text: UnsafeRawBufferPointer,
        isWhole: Bool,
        _ body: (UnsafeRawBufferPointer) -> Void
    ) -> Bool {
        withUnsafeTemporaryAllocation(of: Entry.self, capacity: maximum) { entries in
            guard var count = read(text, into: entries) else { return false }
            if !isWhole { count = keepNameless(entries, count) }
            sort(entries, count, text)
            let capacity = text.count + count * added + 2
            return withUnsafeTemporaryAllocation(byteCount: capacity, alignment: 1) { buffer in
                var output = Output(buffer: buffer)
                output.append("[")
                for place in 0..<count {
                    let entry = entries[place]
                    output.append(place == 0 ? "{\"" : ",{\"")
                    output.append(kinds[entry.rank].member)
                    if kinds[entry.rank].hasName {
                        output.append("\":\"")
                        output.append(text[entry.name])
                        output.append("\"")
                    } else {
                        output.append("\":true")
                    }
                    output.append(",\"level\":\"")
                    output.append(text[entry.level])
                    output.append("\"}")
                }
                output.append("]")
                body(UnsafeRawBufferPointer(rebasing: buffer[..<output.count]))
                return true
            }
        }
    }

    /// Returns the number of entries of `{"role:editor": "write", "public": "read"}`; nil for text with an escape, with an
    /// unsupported subject, or in another spelling.
    private static func read(_ text: UnsafeRawBufferPointer, into entries: UnsafeMutableBufferPointer<Entry>) -> Int? {
        guard text.count >= 2, text[0] == UInt8(ascii: "{"), text[text.count - 1] == UInt8(ascii: "}") else {
            return nil
        }
        if text.count == 2 { return 0 }
        var place = 1
        var count = 0
        while true {
            guard count < maximum, let key = string(text, &place), skip(": ", text, &place),
                let level = string(text, &place), isLevel(text[level]), let kind = kind(of: text[key])
            else { return nil }
            let name = key.lowerBound + kinds[kind].word.utf8CodeUnitCount
            entries.initializeElement(at: count, to: Entry(rank: kind, name: name..<key.upperBound, level: level))
            count += 1
            if place == text.count - 1 { return count }
            guard skip(", ", text, &place) else { return nil }
        }
    }

    /// Moves the entries without a name to the front; returns their number.
    private static func keepNameless(_ entries: UnsafeMutableBufferPointer<Entry>, _ count: Int) -> Int {
        var kept = 0
        for place in 0..<count where !kinds[entries[place].rank].hasName {
            entries[kept] = entries[place]
            kept += 1
        }
        return kept
    }

    /// Returns the range of a string's contents and moves `place` behind it; nil if there is no string, or it has an escape.
    private static func string(_ text: UnsafeRawBufferPointer, _ place: inout Int) -> Range<Int>? {
        guard place < text.count, text[place] == UInt8(ascii: "\"") else { return nil }
        let start = place + 1
        place = start
        while place < text.count {
            let byte = text[place]
            if byte == UInt8(ascii: "\\") { return nil }
            place += 1
            if byte == UInt8(ascii: "\"") { return start..<place - 1 }
        }
        return nil
    }

    private static func skip(_ word: StaticString, _ text: UnsafeRawBufferPointer, _ place: inout Int) -> Bool {
        guard starts(text[min(place, text.count)...], with: word) else { return false }
        place += word.utf8CodeUnitCount
        return true
    }

    private static func isLevel(_ text: Slice<UnsafeRawBufferPointer>) -> Bool {
        equals(text, "read") || equals(text, "write") || equals(text, "update") || equals(text, "delete")
    }

    private static func kind(of key: Slice<UnsafeRawBufferPointer>) -> Int? {
        // There are only a few relations; a key with another one is not a subject.
        if starts(key, with: "relation:"), !relations.contains(where: { equals(key, $0) }) { return nil }
        return kinds.firstIndex { $0.hasName ? starts(key, with: $0.word) : equals(key, $0.word) }
    }

    private static func starts(_ text: Slice<UnsafeRawBufferPointer>, with word: StaticString) -> Bool {
        let count = word.utf8CodeUnitCount
        guard text.count >= count else { return false }
        for place in 0..<count where text[text.startIndex + place] != word.utf8Start[place] { return false }
        return true
    }

    private static func equals(_ text: Slice<UnsafeRawBufferPointer>, _ word: StaticString) -> Bool {
        text.count == word.utf8CodeUnitCount && starts(text, with: word)
    }

    /// Insertion sort, since the lists are short.
    private static func sort(
        _ entries: UnsafeMutableBufferPointer<Entry>,
        _ count: Int,
        _ text: UnsafeRawBufferPointer
    ) {
        guard count > 1 else { return }
        for end in 1..<count {
            var place = end
            while place > 0, comesBefore(entries[place], entries[place - 1], text) {
                entries.swapAt(place, place - 1)
                place -= 1
            }
        }
    }

    private static func comesBefore(_ a: Entry, _ b: Entry, _ text: UnsafeRawBufferPointer) -> Bool {
        if a.rank != b.rank { return a.rank < b.rank }
        return text[a.name].lexicographicallyPrecedes(text[b.name])
    }

    private struct Output {
        let buffer: UnsafeMutableRawBufferPointer
        var count = 0

        mutating func append(_ text: StaticString) {
            buffer.baseAddress?.advanced(by: count).copyMemory(from: text.utf8Start, byteCount: text.utf8CodeUnitCount)
            count += text.utf8CodeUnitCount
        }

        mutating func append(_ bytes: Slice<UnsafeRawBufferPointer>) {
            let source = UnsafeRawBufferPointer(rebasing: bytes)
            if let start = source.baseAddress, !source.isEmpty {
                buffer.baseAddress?.advanced(by: count).copyMemory(from: start, byteCount: source.count)
            }
            count += source.count
        }
    }
}
